# Everything a person or CI does with this repository. `make demo` and `make test` need nothing set up before.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One process per core; the tests are parallel-safe.
JOBS ?= auto

# Where it is set, every node and every command that a test starts would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test test-all lint format bench docs lock generate clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "falkirk needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(STAMP)

demo: setup
	$(BIN)/python demo/run.py

# The suite without the full matrices; real Kafka is fetched once into .cache and started by the tests.
test: setup
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadgroup -m "not full"

test-all: setup
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadgroup --hypothesis-profile full

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python benchmarks/run.py

# The parts of docs/reference that are made from code and schemas.
docs: setup
	$(BIN)/python tools/document_protocol.py
	$(BIN)/python tools/document_tables.py
	$(BIN)/python tools/document_features.py

# Pins what pyproject.toml asks for, with hashes, naming no index.
lock: setup
	$(BIN)/python tools/lock.py

clean:
	rm -rf $(VENV) .cache demo-out .pytest_cache .mypy_cache .ruff_cache .hypothesis dist
