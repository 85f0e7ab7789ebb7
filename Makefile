# Each target makes .venv when it is missing or when what it is made from has changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test lint bench docs clean
help: ## what can be made here
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Error: runcard needs Python 3.11 or newer; try make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[all,sdk]" --group dev
	$(BIN)/python -m compileall -q $(VENV)/lib src || true
	touch $(READY)

demo: $(READY) ## a guided first run, without network and keys
	@$(BIN)/runcard demo "$$(mktemp -d)"

test: $(READY) ## all tests, on all cores, with branch coverage
	$(BIN)/python -m pytest --numprocesses auto --cov --cov-report=term-missing:skip-covered $(ARGS)

lint: $(READY) ## formatting, style, types, and who may import whom
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY) ## speed beside the peers, as ratios
	$(BIN)/python -m compileall -q $(VENV)/lib src
	$(BIN)/python bench/run.py $(ARGS)

docs: $(READY) ## run every sample in README.md and docs/
	$(BIN)/python -m pytest tests/docs --no-header -q $(ARGS)

clean: ## forget .venv and what tools left behind
	rm -rf $(VENV) .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
