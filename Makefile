# Everything a newcomer or CI runs. `make` alone lists the targets.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.installed-run
DEV := $(VENV)/.installed-dev
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input

# pytest stops a single test by itself; this stops a run that hangs between tests.
TEST_TIMEOUT_S ?= 7200
GUARD := $(if $(shell command -v timeout),timeout --foreground --signal=INT --kill-after=60 $(TEST_TIMEOUT_S))
PYTEST := $(BIN)/python -m pytest --durations=15 --durations-min=1
# More processes than a small machine has cores: at first most of them wait for brokers.
JOBS ?= 6

# Images set it. Every process would compile Tocsin and its tests again: half a second a command,
# ten for each process of the tests.
unexport PYTHONDONTWRITEBYTECODE
# As `tocsin` does: threads of BLAS spin beside the tests' processes.
export OPENBLAS_NUM_THREADS := 1

.PHONY: help
help:  ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

.PHONY: venv
venv: $(RUN)  ## the virtual environment, with what a user needs

.PHONY: demo
demo: $(RUN)  ## replay a shop's year and a simulated office
	$(BIN)/tocsin run examples/retail/alarms.yaml --replay examples/retail/online_retail.parquet
	$(BIN)/tocsin run examples/office/alarms.yaml --replay examples/office/badges.jsonl

.PHONY: test
test: system $(DEV)  ## everything CI runs, with a real Kafka and a real PostgreSQL
	@$(MAKE) --no-print-directory --jobs=2 check tested deploy-check DEPLOY_TESTS=

# Beside the check: the one takes a core for a minute, the other begins by waiting for brokers.
.PHONY: tested
tested: compiled
	$(GUARD) $(PYTEST) --numprocesses=$(JOBS) --dist=loadfile --no-loadscope-reorder tests

.PHONY: quick
quick: $(DEV)  ## the unit tests, without servers and without what takes seconds by itself
	$(PYTEST) --numprocesses=auto --dist=worksteal -m "not long" tests/unit tests/house

.PHONY: check
check: $(DEV)  ## linters, types, import directions, the measures of the layout, no secret in the tree
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/mypy --strict -p benchmarks -p deploy.kafka -p deploy.grafana -p deploy.image -p deploy.helm -p deploy.up -p deploy.audit -p deploy.release -p deploy.site
	$(BIN)/lint-imports
	$(BIN)/python -m tests.house.measures
	$(BIN)/python -m tests.house.leaks

# The tests' processes begin at the same time with the same files: one compiles for all of them.
# What cannot be read is told by the tests themselves.
.PHONY: compiled
compiled: $(DEV)
	@$(BIN)/python -m pytest --collect-only -qq tests >/dev/null || true

HELM := $(or $(shell command -v helm),.cache/bin/helm)
HELM_VERSION := v3.16.4
# Schemas, promtool, the image's bill and the site are tests: `make test` runs them with all others, and
# takes helm where it is; building it takes minutes, and what it rendered last is checked by tests.
DEPLOY_TESTS ?= tests/deploy tests/docs/test_asyncapi.py tests/docs/test_site.py
.PHONY: deploy-check
deploy-check: system $(DEV) sbom $(if $(DEPLOY_TESTS),$(HELM))  ## what is deployed: helm, schemas, promtool, compose, the image, its bill, advisories, the site
	@if [ -x $(HELM) ]; then $(BIN)/python -m deploy.helm.chart $(HELM); \
		else echo "helm is not here: the chart as it was rendered last is checked"; fi
	$(BIN)/python -m deploy.audit.advisories $(if $(RELEASE),--release)
	$(if $(DEPLOY_TESTS),$(PYTEST) $(DEPLOY_TESTS))

.PHONY: sbom
sbom: $(DEV)  ## the bill of what a user installs, in .cache/sbom.json (CycloneDX; checked against its schema)
	@mkdir -p .cache
	PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --mc-type application \
		--spec-version 1.6 --output-reproducible --output-file .cache/sbom.json requirements/image.lock

.PHONY: version
version: $(DEV)  ## write the version of pyproject.toml wherever else it is said
	$(BIN)/python -m deploy.release.version
	if [ -x $(HELM) ]; then $(BIN)/python -m deploy.helm.chart $(HELM) --write; fi

.PHONY: release
release: $(DEV) sbom  ## the files of a release of this commit, in dist (docs/how-to/release.md; BASE=mirror of the base image, WITHOUT=image)
	$(BIN)/python -m deploy.release dist --bill .cache/sbom.json $(if $(filter image,$(WITHOUT)),--without-image) $(if $(BASE),--base $(BASE)) \
		$$(if [ -x $(HELM) ]; then echo --helm $(HELM); fi)

.PHONY: release-check
release-check: system $(DEV)  ## the wheel in empty environments of each Python (PYTHONS=a:b), the same bytes twice; the image is image-check's
	TOCSIN_PYTHONS=$(PYTHONS) $(PYTEST) -s --timeout=7200 tests/deploy/test_packaging.py tests/deploy/wheel_in_pythons.py

.PHONY: audit
audit: $(DEV)  ## every dependency's keepers, last release and advisories, as the index says; writes docs/dev/audit.md
	$(BIN)/python -m deploy.audit.dependencies --write

.cache/bin/helm:
	@command -v go >/dev/null || { echo "missing: helm 3, or Go to build it" >&2; exit 1; }
	GOBIN=$(CURDIR)/.cache/bin go install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)

.PHONY: kafka
kafka: $(RUN)  ## a local broker to play with, until Ctrl-C (PORT=9092)
	@deploy/prerequisites.sh default-jre-headless maven
	@exec $(BIN)/python -m deploy.kafka.broker --port $(or $(PORT),9092)

UP := $(if $(FOLDER),--folder $(FOLDER)) $(if $(WITH),--with $(WITH))
.PHONY: up
up: $(DEV)  ## everything on this machine, with an office made up (PORTS=21000 FOLDER=.up WITH=docker|podman)
	@$(BIN)/python -m deploy.up up $(UP) $(if $(PORTS),--ports $(PORTS))

.PHONY: down
down: $(DEV)  ## the end of what `make up` started
	@$(BIN)/python -m deploy.up down $(UP)

# Other stream processors need other versions of what Tocsin needs.
.cache/peers/.installed: requirements/peers.lock | $(BIN)/python
	rm -rf .cache/peers
	$(BIN)/python -m venv .cache/peers
	.cache/peers/bin/python -m pip --disable-pip-version-check --no-input install --quiet --require-hashes -r $<
	@touch $@

.PHONY: bench
bench: system $(DEV) .cache/peers/.installed  ## rates and delays on this machine, the aims for speed beside an earlier commit, and how cost grows
	$(PYTEST) tests/benchmarks
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.aims
	$(BIN)/python -m benchmarks.capacity

.PHONY: bench-accountant
bench-accountant: $(DEV)  ## the ledger by age, maximum overlap; writes their reports
	$(BIN)/python -m benchmarks.ledger_age --write
	$(BIN)/python -m benchmarks.overlap --write

.PHONY: papers
papers: $(DEV)  ## the figures of the papers on other data (DATA=folder); writes their reports
	$(BIN)/python -m benchmarks.papers --write $(if $(DATA),--data $(DATA))

.PHONY: model
model: $(DEV)  ## the protocol's models and their broken twins, every state (docs/dev/protocol.md)
	@deploy/prerequisites.sh spin gcc libc6-dev
	$(BIN)/python -m tests.model.check

.PHONY: proofs
proofs:  ## what Coq checks of the proofs (docs/research/proofs/score.v)
	@deploy/prerequisites.sh coq
	@mkdir -p .cache
	cd .cache && coqc -q -o score.vo ../docs/research/proofs/score.v

.PHONY: histories
histories: $(DEV)  ## a thousand random histories of a ledger, beside a sequential accountant
	$(PYTEST) tests/contracts/test_ledger_sequential.py --full --timeout=7200

.PHONY: trials
trials: $(DEV)  ## what new users ask for, in full: two hundred weeks of a chain, forty intents
	$(PYTEST) tests/trials --full
	$(BIN)/python -m tests.trials.report

.PHONY: crash
crash: system $(DEV)  ## in full: kill -9 at every step on real servers, and a run of 10,000 windows
	$(PYTEST) tests/integration/test_crash_matrix.py tests/unit/stream/replay/test_run_alarms.py --full --timeout=7200

.PHONY: simulate-faults
simulate-faults: $(DEV)  ## the real code on one thread with seeded faults (SEEDS=10000), and mutants; writes the report
	$(BIN)/python -m tests.faults --seeds $(or $(SEEDS),10000) --hunt 1000 --write

.PHONY: soak
soak: system $(DEV)  ## forty minutes of kills, an outage and wrong clocks under load; writes its report
	$(PYTEST) tests/soak/test_soak.py --full --timeout=7200 --capture=no

.PHONY: at-least-once
at-least-once: system $(DEV)  ## nine minutes in which all that `tocsin notify` and `tocsin mqtt` need die in turn; writes its report
	$(PYTEST) tests/at_least_once --full --timeout=7200 --capture=no

.PHONY: image-check
image-check: system $(DEV) $(HELM)  ## the image from its Dockerfile: size, contents, a replay, a worker; the chart's ten minutes (PYTHON312=where one is)
	@deploy/prerequisites.sh podman catatonit buildah debootstrap binutils
	TOCSIN_IMAGE_PYTHON=$(PYTHON312) $(PYTEST) -s --timeout=7200 tests/deploy/image_in_podman.py tests/deploy/chart_in_podman.py

.PHONY: reference
reference: $(DEV)  ## write what comes from the code: commands, keys, metrics, alerts, mechanisms in docs; dashboards
	$(BIN)/python -m deploy.site.reference --write
	$(BIN)/python -m deploy.grafana.build

.PHONY: site
site: $(DEV)  ## the documentation as a site, in .cache/site
	$(BIN)/python -m deploy.site

# uv resolves for every supported Python at once, so that one lock serves them all.
LOCK := $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links \
	--strip-extras --universal --python-version 3.11 --fork-strategy fewest \
	--custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)
.PHONY: lock
lock: $(DEV)  ## write the lock files again (UPGRADE=1: with newer versions)
	$(LOCK) -o requirements/run.lock -c requirements/held.in pyproject.toml requirements/build.in
	$(LOCK) -o requirements/image.lock -c requirements/run.lock --extra mqtt \
		pyproject.toml requirements/build.in
	$(LOCK) -o requirements/dev.lock -c requirements/run.lock --all-extras \
		pyproject.toml requirements/build.in
	$(LOCK) -o requirements/peers.lock requirements/peers.in

.PHONY: clean
clean:  ## remove the environment and every cache; ledgers stay
	rm -rf $(VENV) .cache build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: system
system:
	@deploy/prerequisites.sh

# --- the virtual environment -------------------------------------------------------------------

$(BIN)/python:
	@set -e; for python in $${PYTHON:-python3 python3.13 python3.12 python3.11}; do \
		$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
		$$python -c 'import venv, ensurepip' 2>/dev/null || deploy/prerequisites.sh python3-venv; \
		rm -rf $(VENV); $$python -m venv $(VENV); exit 0; \
	done; echo "missing: Python 3.11 or newer (set PYTHON=...)" >&2; exit 1

# The interpreter is an order-only prerequisite: its date is that of the system's Python.
$(RUN): requirements/run.lock pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --retries 10 --require-hashes -r requirements/run.lock
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): requirements/dev.lock pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --retries 10 --require-hashes -r requirements/dev.lock
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $(RUN) $@
