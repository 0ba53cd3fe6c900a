# The same few verbs for people and for CI. Each sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PI := .cache/pi/.ready
INPUTS := pyproject.toml hatch_build.py $(wildcard native/quickjs/*)

.PHONY: setup demo test check fmt bench docs

setup: $(READY) $(PI)

$(READY): $(INPUTS)
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "Python's venv module is missing; on Debian: apt-get install python3-venv"; exit 1; }
	@echo "Installing what pi-fabric needs into $(VENV); the first time this also compiles the sandbox,"
	@echo "which takes about a minute."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

# Both versions of the real Pi, 170 MB each, for tests and the demo.
$(PI): tools/install_pi.py $(READY)
	@echo "Installing the two versions of Pi that tests and demo drive (340 MB) into .cache/pi."
	@$(BIN)/python -m tools.install_pi
	@touch $@

demo: setup
	@$(BIN)/python -m tools.demo

test: setup
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	$(BIN)/codespell
	$(BIN)/python tools/links.py
	$(BIN)/python tools/reference.py --check

fmt: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup
	$(BIN)/python bench/run.py

docs: setup
	$(BIN)/python tools/reference.py
	$(BIN)/python -m pi_fabric.host.pi.manifest
	$(BIN)/python -m tools.demo --svg docs/demo.svg
