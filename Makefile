# make demo        run the demo; installs only what it needs (DURATION=seconds, PORT_BASE=first port)
# make setup       install what tests and lint need
# make test        lint, and every test that is not slow
# make test-unit   the tests that need Python packages alone, in a minute
# make test-shared the tests that read other people's reports from ../shared
# make test-slow   the slow tests
# make test-real   the suite against a real ASE: REAL_ASE_HOST=… or STAND_IN='16.0 SP04' (docs/internals/real-servers.md)
# make bench       benchmarks
# make lint        static checks
# make audit       look up pinned dependencies in the public database of advisories
# make generate    write all generated files: rules, dashboards, docs/metrics.md, docs/coverage.md, pictures of top
# make docs        build the site of the documents in build/site, with a strict check of its links
# make package     build the wheels and sdists of ase-exporter and ase-simulator
# make image       build the container images of both
# make release-check  build and check all that a release publishes, without publishing it
.PHONY: setup demo test test-slow bench lint audit generate docs package image

VENV := .venv/bin
# Prometheus's tools run for seconds: collecting garbage less often takes a quarter less of their CPU.
export GOGC := 400
# Our programs start hundreds of times in the tests. Compiling them each time would be most of their CPU.
export PYTHONDONTWRITEBYTECODE :=
DURATION ?=
PORT_BASE ?=

setup:
	@deploy/dev/setup.sh test

demo:
	@deploy/dev/setup.sh demo
	@$(VENV)/ase-simulator demo $(if $(DURATION),--duration $(DURATION)) $(if $(PORT_BASE),--port-base $(PORT_BASE))

# Tests that use no server, program or browser: they need Python packages alone.
.PHONY: test-unit
test-unit:
	@PYTHON_ONLY=1 deploy/dev/setup.sh
	$(VENV)/python -m pytest -q --unit -n 2 --dist loadfile -m "not slow"

test: setup
	@deploy/dev/test.sh

# Tests that read other people's reports from ../shared.
.PHONY: test-shared
test-shared: setup
	$(VENV)/python -m pytest -q -m "shared and not slow" $$(grep -rl --include='test_*.py' mark.shared tests)

test-slow:
	@deploy/dev/setup.sh slow
	$(VENV)/python -m pytest -q -m slow

# What is given here reaches the tests by the environment. Passwords are given there: `ps` would show them, and make takes
# a $ in them for a variable, so that another password would be sent.
.PHONY: test-real
test-real: export REAL_ASE_REPORTS ?= build/real-ase
test-real:
	$(if $(filter command,$(origin REAL_ASE_SA_PASSWORD) $(origin REAL_ASE_PASSWORD)),$(error test-real: expected passwords before make, in the environment))
	@test -n "$$REAL_ASE_HOST$$STAND_IN" || { echo "test-real: expected REAL_ASE_HOST=… or STAND_IN=VERSION" >&2; exit 2; }
	@deploy/dev/setup.sh demo
	@PYTHON_ONLY=1 deploy/dev/setup.sh
	$(VENV)/python -m pytest -q tests/real

bench: setup
	$(VENV)/python -m pytest -q -s tests/benchmarks

lint: setup
	@deploy/dev/lint.sh

audit:
	@deploy/dev/audit.sh

# In this order: docs/coverage.md needs the rules.
generate: setup
	@$(VENV)/python -m alerts.write
	@$(VENV)/python -m dashboards.write
	@$(VENV)/python -m docs.write
	@$(VENV)/python -m tests.exporter.top.pictures

docs: setup
	@NO_MKDOCS_2_WARNING=1 $(VENV)/mkdocs build --strict

package: setup
	rm -rf dist
	$(VENV)/python -m build --no-isolation --outdir dist exporter
	$(VENV)/python -m build --no-isolation --outdir dist simulator

image:
	docker build -f deploy/docker/Dockerfile --build-arg REVISION="$$(git rev-parse HEAD)" -t ase-exporter .
	docker build -f deploy/docker/Dockerfile --build-arg REVISION="$$(git rev-parse HEAD)" -t ase-simulator --target simulator .

.PHONY: release-check
release-check: setup
	@deploy/release/check.sh $(TAG)
