#!/bin/sh
# Lint and tests beside each other; a failure of one does not hide the other. Tests that run in real time come last,
# without anything beside them.
set -u
cd "$(dirname "$0")/../.." || exit
log=$(mktemp)
trap 'kill "$lint" 2>/dev/null; rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
deploy/dev/lint.sh >"$log" 2>&1 &
lint=$!
status=0
run() {
    .venv/bin/python -m pytest -q --ignore tests/benchmarks "$@" || status=1
}
run -n 3 --dist loadfile --no-loadscope-reorder -m "not slow and not alone"
if wait "$lint"; then
    echo "lint: no objection"
else
    echo "lint failed:" >&2
    cat "$log" >&2
    status=1
fi
# Reading all files would take longer than these tests.
# shellcheck disable=SC2046  # names without blanks
run -m "alone and not slow" $(grep -rl --include='test_*.py' mark.alone tests)
exit "$status"
