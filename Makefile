# Every target builds what it needs in .venv: Python 3.11 or newer, git and make are enough.

PYTHON ?= python3
PYTEST_ARGS ?= -n auto
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help test reproduce bench docs clean

help:
	@echo "make test        check style and types, run all tests (PYTEST_ARGS=\"$(PYTEST_ARGS)\")"
	@echo "make reproduce   run the paper's experiments and judge its claims"
	@echo "make bench       measure speed"
	@echo "make docs        build the documentation"
	@echo "make clean       remove the environment and the caches; results in out/ stay"
	@echo "PYTHON=python3.12 chooses the interpreter."

test: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest $(PYTEST_ARGS)

reproduce: $(STAMP)
	$(BIN)/heavybandits reproduce

docs: $(STAMP)
	$(BIN)/python -m pip install -q --group docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs out/docs
	@echo "out/docs/index.html"

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage htmlcov
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# pip writes the bytecode as it installs, even under PYTHONDONTWRITEBYTECODE.
$(STAMP): pyproject.toml
	@command -v "$(PYTHON)" >/dev/null || \
	  { echo "$(PYTHON) was not found; choose an interpreter: make PYTHON=python3.12 ..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "heavybandits needs Python 3.11 or newer, $(PYTHON) is" \
	    "$$("$(PYTHON)" --version 2>&1); choose another: make PYTHON=python3.12 ..." >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -e ".[lab]" --group dev
	@touch $@
