#!/bin/sh
# Checks every pinned dependency against the public database of advisories. Needs the internet; a dependency that could
# not be checked is a failure. pip-audit gets its own environment, because it is not a dependency of the project.
set -eu
cd "$(dirname "$0")/../.."
tool=.venv/audit
[ -x "$tool/bin/pip-audit" ] || {
    "${PYTHON:-python3}" -m venv "$tool"
    "$tool/bin/pip" install --quiet --disable-pip-version-check pip-audit
}
exec "$tool/bin/pip-audit" --strict --disable-pip --require-hashes "$@" -r requirements-dev.txt
