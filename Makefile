# Five things a person needs: up, test, check, bench, setup. `make help` lists the rest.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
JOBS   ?= 2
export PYTHONDONTWRITEBYTECODE := 1

.DEFAULT_GOAL := help
.PHONY: help setup up test check format lint types docs bench campaign locks clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(VENV)/.run: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "avow needs Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV) || \
	  { echo "python3 has no venv module; as root: apt-get install python3-venv"; exit 1; }
	@echo "installing what Avow needs to run"
	@$(PIP) install --quiet --require-hashes --requirement requirements.txt
	@$(PIP) install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.run
	@echo "installing what the tests need"
	@$(PIP) install --quiet --require-hashes --requirement requirements-dev.txt
	@touch $@

# The peers bring many packages of their own, so they live apart.
.venv-bench/.done: requirements-bench.txt pyproject.toml
	@test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	@echo "installing Avow and the peers of the benchmark"
	@.venv-bench/bin/python -m pip install --quiet --require-hashes \
	  --requirement requirements-bench.txt
	@.venv-bench/bin/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

setup: $(VENV)/.dev ## set up everything into .venv, start nothing

up: $(VENV)/.run ## set up and start the server; it prints its address, a first key and a line to paste
	@$(BIN)/avow up

test: $(VENV)/.dev ## run every test
	@$(BIN)/python -m pytest -n $(JOBS) tests

format: $(VENV)/.dev ## rewrite the sources in the house format
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

lint: $(VENV)/.dev ## format and lint, without changing anything
	@$(BIN)/ruff format --check . && $(BIN)/ruff check .

types: $(VENV)/.dev ## mypy, strict
	@$(BIN)/python -m mypy

check: lint types ## what CI runs: format, lint, types, tests with coverage
	@$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report= tests
	@$(BIN)/python -m tests.coverage_floor

docs: $(VENV)/.run ## write the generated pages anew
	@$(BIN)/python -m docs.generate

bench: .venv-bench/.done ## measure beside the peers, write bench/results
	@sh bench/prepare.sh
	@for part in run journal http postgres growth; do \
	  .venv-bench/bin/python -m bench.$$part || exit 1; done

campaign: $(VENV)/.dev ## the volume tests in full: 10^7 comparisons, 10^5 fuzzed bodies, the mutants
	@AVOW_CAMPAIGN=full $(BIN)/python -m tests.campaign

locks: ## resolve requirements*.in anew (needs `pip install uv`)
	@for set in requirements requirements-dev requirements-bench; do \
	  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-header --no-annotate $$set.in --output-file $$set.txt; done

clean: ## remove the virtual environment and caches
	@rm -rf $(VENV) .venv-bench .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
