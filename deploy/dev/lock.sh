#!/bin/sh
# Writes the lock files. Hashes are recorded, index addresses are not.
#   requirements.txt            ase-exporter with its extras: what README installs, and deb, rpm and image have
#   requirements-simulator.txt  ase-simulator
#   requirements-dev.txt        both, and what tests, lint and a release need
# The others take their versions from requirements-dev.txt, so that one package has one version everywhere.
set -eu
cd "$(dirname "$0")/../.."
compile() {
    uv pip compile --universal --python-version 3.11 --generate-hashes --quiet \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@"
}
compile exporter/pyproject.toml simulator/pyproject.toml --extra compare --extra top --extra mcp --group pyproject.toml:dev "$@" \
    --output-file requirements-dev.txt
compile exporter/pyproject.toml --extra compare --extra top --extra mcp --constraint requirements-dev.txt --output-file requirements.txt
compile simulator/pyproject.toml --constraint requirements-dev.txt --output-file requirements-simulator.txt
