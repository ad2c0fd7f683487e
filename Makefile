# Kappa: `make validate` and `make test` set up everything they need; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
SITE := site_configs/embedded
MODE := nightly
RUNS := 10
BUSY := 5

.PHONY: help validate smoke programs site-programs validate-simulated tables-simulated scale-table test test-unit test-long test-times test-repeat test-docs test-spack test-builds fuzz matpower-table fault-campaign lint docs pictures setup setup-tests clean

help:            ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

validate: site-programs  ## run the suite on the embedded cluster, print the verdict, write the report; MODE=full runs everything, LAMMPS and OpenFOAM too
	.venv/bin/kappa validate embedded $(MODE)

smoke: site-programs     ## the same with the checks tagged smoke only
	.venv/bin/kappa validate embedded smoke

# Before a run: on one machine, a compiler disturbs a measurement beside it.
site-programs: setup
	@.venv/bin/python -m reframe_checks.base.programs embedded $(if $(filter full,$(MODE)),,packaged)

programs: setup-tests site-programs ## build all programs that `validate` and `test` run, or take them from $$KAPPA_BUILDS
	@.venv/bin/python -m tests.programs

# Three workers on two cores: the tests on a cluster mostly wait for Slurm. Two for the long ones, which also look for hangs.
PYTEST = .venv/bin/pytest -n 3 --durations=30 --durations-min=5 $(PYTEST_OPTIONS)

validate-simulated: .venv/simulated.stamp ## run the checks on simulated fabrics, without Slurm: under 5 minutes; MODE=full runs all fabrics
	$(SITE)/install-packages --simulated
	.venv/bin/kappa validate simulated $(MODE)

tables-simulated: .venv/simulated.stamp ## simulate the papers' machines and write docs/simulated-tables.md anew
	$(SITE)/install-packages --simulated
	.venv/bin/kappa fabric tables

test: programs   ## unit tests, and integration tests on an embedded cluster: under 10 minutes on two cores
	$(PYTEST) -m "not long"

test-unit: setup-tests ## what needs no cluster: under 90 s
	$(PYTEST) -m "not long" tests/unit

.PHONY: test-mutations check-all
test-long: programs ## what takes longer, and what `test` repeats a few times only
	$(PYTEST) -n 2 -m long

test-mutations: setup-tests ## every mutation of recorded output, and the oldest and the newest ReFrame
	KAPPA_EVERY_MUTATION=1 KAPPA_TEST_REFRAMES=1 $(PYTEST) tests/unit/parsers/test_mutation.py tests/unit/base/test_reframe_internals.py

check-all:       ## all of continuous integration and more, also after a failure; writes docs/tests.md: hours
	.ci/run --all

scale-table: setup-tests ## measure the suite's own time and memory on 4 to 512 light nodes, and 10,000 made up: docs/scaling.md; 15 minutes
	.venv/bin/python -m tests.scale --page docs/scaling.md

test-times: setup-tests ## run all tests and write into docs/tests.md which take long
	mkdir -p .kappa
	$(PYTEST) --junitxml=.kappa/tests.xml
	.venv/bin/python -m tests.times .kappa/tests.xml

test-repeat: setup-tests ## the integration tests ten times in a row, five of them beside busy loops; RUNS=10 BUSY=5
	tests/repeat $(RUNS) $(BUSY)

test-docs: setup-tests ## type the commands of README, emt_app/README.md and docs/ in order, as root and as a user: 35 minutes
	KAPPA_TEST_DOCS=1 .venv/bin/pytest tests/docs -s

test-spack: setup-tests ## install mpi-io, app and rated with the Spack of KAPPA_SPACK_ROOT and run their checks
	@[ -n "$${KAPPA_SPACK_ROOT:-}" ] || { echo "test-spack: KAPPA_SPACK_ROOT has to name a Spack checkout (0.23 or 1.x);" \
	    "docs/spack.md says how to get one" >&2; exit 2; }
	$(SITE)/install-packages --spack
	.venv/bin/pytest tests/spack -s

test-builds: setup-tests ## build and test the EMT application with sanitizers, with Clang, with MPICH, without AVX
	$(SITE)/install-packages --builds
	KAPPA_TEST_BUILDS=1 .venv/bin/pytest tests/emt/test_builds.py -s

fuzz: setup-tests ## feed the EMT application with cases of a coverage-guided fuzzer; FUZZ_OPTIONS="--seconds 3600"
	$(SITE)/install-packages --builds
	.venv/bin/python -m tests.emt.fuzz $(FUZZ_OPTIONS)

matpower-table: ## table of the public MATPOWER cases in FOLDER, with the program EMT (build/emt); downloads nothing
	@[ -n "$(FOLDER)" ] || { echo "matpower-table: set FOLDER to a folder with the cases" >&2; exit 2; }
	python3 emt_app/tests/matpower_table.py "$(FOLDER)" --emt "$(or $(EMT),build/emt)"

lint: setup-tests ## ruff, mypy, shellcheck; warns of unclear English in changed lines
	.venv/bin/python -m tests.plain_english
	.venv/bin/ruff check .
	.venv/bin/mypy
	git ls-files -z | xargs -0 awk 'FNR == 1 { if (/^#!.*bash/) printf "%s%c", FILENAME, 0; nextfile }' | xargs -0 shellcheck

fault-campaign: setup-tests ## put random faults into a cluster, count those found; FAULT_OPTIONS="--seed 1 --rounds 3"
	.venv/bin/python -m tests.fault_campaign run $(FAULT_OPTIONS)

docs: .venv/embedded.stamp ## renew the description of the checks, and the tables of the vocabulary
	.venv/bin/python -m tests.catalogue --write

pictures: setup-tests ## docs/report.png anew, of the newest run of the embedded cluster
	.venv/bin/python -m tests.pictures "$$(ls -td results/embedded/runs/* | head -n 1)"

setup: .venv/embedded.stamp
	$(SITE)/setup "$(CURDIR)" .venv/bin/python $(if $(filter full,$(MODE)),--applications)

setup-tests: setup .venv/test.stamp
	$(SITE)/install-packages --tests

# Exactly the packages of the lock files, by hash. Debian's packages beside Python's, unless making a virtual environment
# takes one of them.
PIP = .venv/bin/pip install --quiet --disable-pip-version-check
.venv/%.stamp: pyproject.toml requirements.lock tests/requirements.lock .ci/requirements.lock
	@echo "installing Python packages into .venv"
	$(SITE)/install-packages $(if $(filter simulated,$*),--simulated) & packages=$$!; trap 'wait $$packages || exit 1' EXIT; \
	$(PYTHON) -c 'import ensurepip' 2>/dev/null || wait $$packages; \
	[ -x .venv/bin/pip ] || $(PYTHON) -m venv .venv; \
	$(PIP) --require-hashes -r .ci/requirements.lock -r $(if $(filter test,$*),tests/)requirements.lock
	$(PIP) --no-deps --no-build-isolation -e .
	touch $@

.PHONY: lock release
LOCK = .venv/bin/uv pip compile --quiet --generate-hashes --custom-compile-command "make lock" --python-version 3.11 $(LOCK_OPTIONS)
lock: setup-tests ## write the lock files anew after a change of pyproject.toml; LOCK_OPTIONS=--upgrade takes the newest versions
	$(LOCK) --universal --fork-strategy fewest --extra embedded pyproject.toml -o requirements.lock
	$(LOCK) --universal --fork-strategy fewest --all-extras pyproject.toml -c requirements.lock -o tests/requirements.lock
	printf '%s\n' build editables hatchling | $(LOCK) --universal -c tests/requirements.lock - -o .ci/requirements.lock
	$(LOCK) --resolution lowest-direct --extra embedded pyproject.toml tests/release/oldest.in -o tests/release/oldest.lock

release:         ## build the files of a release of HEAD twice, compare them, and write them to dist/; SIGN=minisign:SECRET_KEY_FILE
	$(PYTHON) .ci/release.py $(if $(SIGN),--sign $(SIGN))

clean:           ## stop the embedded cluster, remove the environment and the results
	-$(SITE)/cluster down --purge
	rm -rf .venv .kappa results
