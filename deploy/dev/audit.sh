#!/bin/sh
# Asks the public database of advisories about every pinned dependency. Needs the internet; what could not be asked
# about is a failure, not a pass. pip-audit gets a .venv of its own: it is no dependency of ours.
set -eu
cd "$(dirname "$0")/../.."
tool=.venv/audit
[ -x "$tool/bin/pip-audit" ] || {
    "${PYTHON:-python3}" -m venv "$tool"
    "$tool/bin/pip" install --quiet --disable-pip-version-check pip-audit
}
exec "$tool/bin/pip-audit" --strict --disable-pip --require-hashes "$@" -r requirements.txt -r requirements-dev.txt
