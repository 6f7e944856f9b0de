# Everything a person or CI does with this repository. `make demo` and `make test` need nothing set up before.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One process per core; the tests are parallel-safe.
JOBS ?= auto
# Each of these starts clusters of several JVMs.
KAFKA_JOBS ?= 2
PYTEST = $(BIN)/python -m pytest --durations 10
JVM := interop or spark or zookeeper
PURE = $(PYTEST) --numprocesses $(JOBS) --dist worksteal
KAFKA = $(PYTEST) --numprocesses $(KAFKA_JOBS) --dist loadgroup --no-loadscope-reorder

# Where it is set, every node and every command that a test starts would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo check test test-kafka test-browser test-all lint format bench docs lock generate clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "falkirk needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(STAMP)

demo: setup
	$(BIN)/python demo/run.py

# Pure and quick: two minutes on two cores.
check: setup
	$(PURE) --hypothesis-profile check -m "not ($(JVM) or browser or full or slow)"

# All that is pure, so Python is enough: five minutes on two cores.
test: setup
	$(PURE) -m "not ($(JVM) or browser or full)"

# What starts real Kafka, Spark or ZooKeeper: twelve minutes. Needs Java 17 and Maven; fetches jars once into .cache.
test-kafka: setup
	$(KAFKA) -m "($(JVM)) and not full"

# What opens pages in a browser: needs Debian's package `chromium`.
test-browser: setup
	$(PYTEST) -m "browser and not full"

# Everything: the full matrices, and three times as many examples in property tests.
test-all: setup
	$(PURE) --hypothesis-profile full -m "not ($(JVM) or browser)"
	$(KAFKA) --hypothesis-profile full -m "$(JVM)"
	$(PYTEST) --hypothesis-profile full -m browser

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
