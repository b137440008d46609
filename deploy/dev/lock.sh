#!/bin/sh
# Writes requirements.txt (what a user installs) and requirements-dev.txt (what tests and lint need besides).
# Hashes are recorded, index addresses are not.
set -eu
cd "$(dirname "$0")/../.."
compile() {
    uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --quiet \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@"
}
compile --output-file requirements.txt
compile --extra dev --constraint requirements.txt --output-file requirements-dev.txt
