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
# A test that hangs ends with the stacks of its threads, and fails. Those marked `full` may take hours.
STUCK = -o faulthandler_exit_on_timeout=true -o faulthandler_timeout
PURE = $(PYTEST) --numprocesses $(JOBS) --dist worksteal
KAFKA = $(PYTEST) --numprocesses $(KAFKA_JOBS) --dist loadgroup --no-loadscope-reorder

# Where it is set, every node and every command that a test starts would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

# The package with its hot modules compiled: programs and tests that begin with this on PYTHONPATH run it.
COMPILED := build/compiled
COMPILED_STAMP := $(COMPILED)/.built
WITH_COMPILED := PYTHONPATH=$(CURDIR)/$(COMPILED)
# A multiple of the portion that a process plays.
SIMULATED_SEEDS ?= 500
SEEDS_AT_ONCE := 20
COMPILED_TESTS ?= tests

.PHONY: setup demo check test compiled test-compiled test-kafka test-browser test-all lint format bench docs site lock release clean help

setup: $(STAMP) ## makes .venv with what requirements.lock pins

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "falkirk needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(STAMP)

demo: setup ## a cluster goes from 4.3 to 3.9 under load and a watch, four minutes
	$(BIN)/python demo/run.py

# Pure and quick: two minutes on two cores.
check: setup ## the quick pure tests, two minutes
	$(PURE) $(STUCK)=300 --hypothesis-profile check -m "not ($(JVM) or browser or full or slow)"

# All that is pure, so Python is enough: seven minutes on two cores.
test: setup ## all pure tests, seven minutes
	$(PURE) $(STUCK)=600 -m "not ($(JVM) or browser or full)"

# The sources stay what all other targets run.
compiled: $(COMPILED_STAMP) ## the hot modules compiled, in build/compiled (needs a C compiler)

$(COMPILED_STAMP): $(STAMP) hatch_build.py tools/compile.py tools/written_codecs.py $(wildcard tools/compiled_*.txt) $(shell find src -name '*.py')
	rm -rf $(COMPILED) build/wheels
	FALKIRK_COMPILED=1 $(BIN)/python -m hatchling build --target wheel --directory build/wheels
	$(BIN)/python -m pip install --quiet --no-deps --no-index --target $(COMPILED) build/wheels/*.whl
	touch $@

# The quick tests and the simulator on the compiled build. Tests marked `source` replace what is compiled.
test-compiled: compiled ## the quick pure tests and the simulator on the compiled build
	$(WITH_COMPILED) $(BIN)/falkirk --version | grep --quiet compiled
	$(WITH_COMPILED) $(PURE) $(STUCK)=300 --hypothesis-profile check -m "not ($(JVM) or browser or full or slow or source)" $(COMPILED_TESTS)
	seq 1 $(SEEDS_AT_ONCE) $(SIMULATED_SEEDS) | $(WITH_COMPILED) xargs -P $$(nproc) -I {} $(BIN)/falkirk simulate --seed {} --runs $(SEEDS_AT_ONCE) --quiet

# What starts real Kafka, Spark or ZooKeeper: sixteen minutes. Needs Java 17 and Maven; fetches jars once into .cache.
test-kafka: setup ## what starts real Kafka, Spark or ZooKeeper (Java 17, Maven)
	$(KAFKA) $(STUCK)=1200 -m "($(JVM)) and not (browser or full)"

# What opens pages in a browser: needs Debian's package `chromium`.
test-browser: setup ## what opens pages in Chromium
	$(PYTEST) $(STUCK)=600 -m "browser and not full"

# Everything: the full matrices, and three times as many examples in property tests.
test-all: setup ## everything, hours
	$(PURE) --hypothesis-profile full -m "not ($(JVM) or browser)"
	$(KAFKA) --hypothesis-profile full -m "($(JVM)) and not browser"
	$(PYTEST) --hypothesis-profile full -m browser

lint: setup ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## formats the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: compiled ## the benchmarks, of the source and of the compiled build
	$(BIN)/python benchmarks/run.py

# The pages of docs/ that are made from code, schemas and measurements.
docs: setup ## makes the generated pages of docs/ anew
	$(BIN)/python tools/document_protocol.py
	$(BIN)/python tools/document_tables.py
	$(BIN)/python tools/document_features.py
	$(BIN)/python tools/document_benchmarks.py
	cp docs/runbooks/blockers.md src/falkirk/pipeline/reports/templates/blockers.txt

# The site of docs/ and of each release's, in site/: open site/index.html.
site: setup ## makes the site of docs/, a folder for each version
	$(BIN)/python tools/make_site.py

# Pins what pyproject.toml asks for, with hashes, naming no index.
lock: setup ## pins what pyproject.toml asks for
	$(BIN)/python tools/lock.py

# On a clean tree: version, changelog, tag; packages, notes, checksums and a bill of materials in dist/. Pushes nothing.
release: setup ## cuts a release: make release VERSION=0.2.0
	$(BIN)/python tools/release.py $(VERSION)

clean: ## removes what the others made
	rm -rf $(VENV) build .cache demo-out .pytest_cache .mypy_cache .ruff_cache .hypothesis dist site

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'
