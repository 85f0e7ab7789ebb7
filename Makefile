# Each target creates or updates .venv first: the package alone for the demo, everything else for the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.base
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt
# Bytecode is written even if PYTHONDONTWRITEBYTECODE is set: the tests start thousands of processes.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses auto

.PHONY: help demo check test test-long test-all tools lint bench docs dist clean
help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(BASE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Error: runcard needs Python 3.11 or newer; try make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	@$(BIN)/python -m compileall -q src
	@touch $(BASE)

$(READY): $(BASE)
	$(PIP) --upgrade pip
	$(PIP) --editable ".[all,sdk]" --group dev
	@touch $(READY)

demo: $(BASE) ## a guided tour; needs no API key
	@$(BIN)/runcard demo "$$(mktemp -d)"

check: lint ## lint and the fast tests, in about a minute: before each commit
	$(PYTEST) -m 'not slow and not long' --ignore tests/attacks --ignore tests/acceptance --ignore tests/docs $(ARGS)

test: $(READY) ## all tests but the long ones, in minutes
	$(PYTEST) -m 'not long' $(ARGS)

test-long: $(READY) ## the long tests: real agents and browsers, faults at each step, large sizes
	$(PYTEST) -m long --on-disk $(ARGS)

test-all: $(READY) ## all tests, with branch coverage
	$(PYTEST) --on-disk --cov --cov-report=term-missing:skip-covered $(ARGS)

tools: $(READY) ## install the programs that some tests run, from Debian, npm and the package index
	$(BIN)/python scripts/install_tools.py

lint: $(READY) ## formatting, style, types, and import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY) ## compare the speed with other programs
	$(BIN)/python -m compileall -q src
	$(BIN)/python -m bench.run $(ARGS)

docs: $(READY) ## run every sample in README.md and docs/
	$(PYTEST) tests/docs --no-header -q $(ARGS)

dist: $(READY) ## wheel and sdist in dist/: the same bytes for the same commit
	time=$$(git log -1 --format=%ct) && SOURCE_DATE_EPOCH=$$time $(BIN)/python -m hatchling build --clean

clean: ## remove .venv and all caches
	rm -rf $(VENV) .venv-bench .venv-validators .clients .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
