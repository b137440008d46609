#!/bin/sh
# Every check that runs nothing: Python, YAML, shell, Dockerfiles, then rules and configurations by their own tools.
set -eu
cd "$(dirname "$0")/../.."
PATH=$PWD/.venv/bin:$PATH

# Our own files by name, without what tools keep beside them.
ours() {
    find . -type d \( -name .venv -o -name .git -o -name .demo -o -name .bench \) -prune -o "$@" -type f -print
}

ruff check --quiet .
ruff format --check --quiet .
mypy
mypy -p alerts -p dashboards
yamllint --strict .
{ ours -name '*.sh'; echo .ci/run; } | xargs shellcheck
ours -name 'Dockerfile*' | xargs --no-run-if-empty hadolint

python -m alerts.write --check
python -m dashboards.write --check
promtool check config deploy/prometheus/prometheus.yml >/dev/null
promtool check rules alerts/rules/*.yaml >/dev/null
said=$(promtool test rules alerts/tests/*.yaml 2>&1) || { echo "$said" >&2; exit 1; }
amtool check-config deploy/alertmanager/alertmanager.yml deploy/alertmanager/examples/*.yml >/dev/null
