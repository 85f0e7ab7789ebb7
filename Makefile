# Each target creates .venv if it is missing or out of date.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo check test lint bench docs clean
help: ## list the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Error: runcard needs Python 3.11 or newer; try make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[all,sdk]" --group dev
	$(BIN)/python -m compileall -q $(VENV)/lib src || true
	touch $(READY)

demo: $(READY) ## a guided tour, without network and API keys
	@$(BIN)/runcard demo "$$(mktemp -d)"

check: lint ## before each commit: lint and the fast tests, in about a minute
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses auto -q -m 'not slow' --ignore tests/attacks --ignore tests/acceptance --ignore tests/docs $(ARGS)

test: $(READY) ## all tests, on all cores, with branch coverage
	$(BIN)/python -m pytest --numprocesses auto --cov --cov-report=term-missing:skip-covered $(ARGS)

lint: $(READY) ## formatting, style, types, and import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY) ## compare the speed with other programs
	$(BIN)/python -m compileall -q $(VENV)/lib src
	$(BIN)/python -m bench.run $(ARGS)

docs: $(READY) ## run every sample in README.md and docs/
	$(BIN)/python -m pytest tests/docs --no-header -q $(ARGS)

clean: ## remove .venv and all caches
	rm -rf $(VENV) .venv-bench .venv-validators .clients .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
