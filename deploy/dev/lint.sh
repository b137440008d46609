#!/bin/sh
# Static checks: Python, YAML, shell, Dockerfiles, workflows, rules and configurations.
set -eu
cd "$(dirname "$0")/../.."
PATH=$PWD/.venv/bin:$PATH

# Find files of the project, without those that tools create.
ours() {
    find . -type d \( -name .venv -o -name .git -o -name .demo \) -prune -o "$@" -type f -print
}

ruff check --quiet .
ruff format --check --quiet .
# Types take as long as all the rest: the other core does that.
mypy &
types=$!
trap 'kill "$types" 2>/dev/null || true' EXIT
lint-imports >/dev/null || { lint-imports; exit 1; }
python deploy/dev/duplicate_names.py
python deploy/dev/version.py --check
yamllint --strict .
said=$(python deploy/dev/schemas.py) || { echo "$said" >&2; exit 1; }
{ ours -name '*.sh'; echo .ci/run; } | xargs shellcheck
ours -name 'Dockerfile*' | xargs --no-run-if-empty hadolint

# Nobody reads more than that. Pages that are written are not counted.
words=$(ours -name '*.md' ! -path './build/*' ! -path './dist/*' ! -path './.pytest_cache/*' ! -path ./docs/metrics.md ! -path ./docs/coverage.md \
    ! -path ./docs/error-log.md ! -path ./alerts/first-lines.md ! -path ./alerts/runbooks/README.md | xargs cat | wc -w)
[ "$words" -le 20000 ] || { echo "Markdown by hand: $words words; cut to 20000" >&2; exit 1; }

python -m alerts.write --check
python -m dashboards.write --check
python -m docs.write --check
said=$(NO_MKDOCS_2_WARNING=1 mkdocs build --strict 2>&1) || { echo "$said" >&2; exit 1; }
promtool check config deploy/prometheus/prometheus.yml >/dev/null
promtool check rules alerts/rules/*.yaml >/dev/null
# Two at a time, each with one thread: more of them collect garbage for nothing.
said=$(printf '%s\n' alerts/tests/*.yaml | GOMAXPROCS=1 xargs -P 2 -n 4 promtool test rules 2>&1) || { echo "$said" >&2; exit 1; }
amtool check-config deploy/alertmanager/alertmanager.yml deploy/alertmanager/examples/*.yml >/dev/null
wait "$types"
