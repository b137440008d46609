#!/bin/sh
# Lint and tests beside each other; a failure of one does not hide the other. A real ASE is tested by `make test-real`.
set -u
cd "$(dirname "$0")/../.." || exit
log=$(mktemp)
trap 'kill "$lint" 2>/dev/null; rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
deploy/dev/lint.sh >"$log" 2>&1 &
lint=$!
status=0
.venv/bin/python -m pytest -q --ignore tests/benchmarks --ignore tests/real \
    -n 4 --dist loadfile --no-loadscope-reorder -m "not slow" || status=1
if wait "$lint"; then
    echo "lint: no objection"
else
    echo "lint failed:" >&2
    cat "$log" >&2
    status=1
fi
exit "$status"
