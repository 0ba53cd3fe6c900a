# The same few verbs for people and for CI. `make demo` and `make test` set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup demo test check fmt bench docs

setup: $(READY)

$(READY): pyproject.toml hatch_build.py native/quickjs/build.py native/quickjs/shim.c
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	touch $@

test: $(READY)
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/codespell

fmt: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
