#!/bin/sh
# Writes the lock files. Hashes are recorded, index addresses are not.
#   requirements.txt            ase-exporter without extras: what serving and most commands need
#   requirements-tools.txt      the same with [compare] and [top]: what README installs, and deb, rpm and image have
#   requirements-report.txt     the same with [report]
#   requirements-simulator.txt  ase-simulator
#   requirements-dev.txt        all of these, and what tests and lint need
#   requirements-release.txt    what `make release-check` needs
# The others take their versions from requirements-dev.txt, so that one package has one version everywhere.
set -eu
cd "$(dirname "$0")/../.."
compile() {
    uv pip compile --universal --python-version 3.11 --generate-hashes --quiet \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@"
}
compile exporter/pyproject.toml simulator/pyproject.toml --extra report --extra top --extra mcp --group pyproject.toml:dev "$@" \
    --output-file requirements-dev.txt
compile exporter/pyproject.toml --constraint requirements-dev.txt --output-file requirements.txt
compile exporter/pyproject.toml --extra compare --extra top --constraint requirements-dev.txt --output-file requirements-tools.txt
compile exporter/pyproject.toml --extra compare --extra top --extra report --constraint requirements-dev.txt --output-file requirements-report.txt
compile simulator/pyproject.toml --constraint requirements-dev.txt --output-file requirements-simulator.txt
compile --group pyproject.toml:release --constraint requirements-dev.txt --output-file requirements-release.txt
