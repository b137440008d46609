# make setup | demo | test | test-slow | bench | lint | audit | alerts | dashboards
.PHONY: setup demo test test-slow bench lint audit alerts dashboards

VENV := .venv/bin
DURATION ?=
PORT_BASE ?=

setup:
	@deploy/dev/setup.sh

demo: setup
	@$(VENV)/ase-exporter demo $(if $(DURATION),--duration $(DURATION)) $(if $(PORT_BASE),--port-base $(PORT_BASE))

test: lint
	$(VENV)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "not slow" --ignore tests/benchmarks

test-slow: setup
	$(VENV)/python -m pytest -q -m slow

bench: setup
	$(VENV)/python -m pytest -q -s tests/benchmarks

lint: setup
	@deploy/dev/lint.sh

audit:
	@deploy/dev/audit.sh

alerts: setup
	@$(VENV)/python -m alerts.write

dashboards: setup
	@$(VENV)/python -m dashboards.write
