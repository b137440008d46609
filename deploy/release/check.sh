#!/bin/sh
# Builds everything that a release publishes into dist/, as far as that works without a registry, and checks it:
# wheels and sdists, deb, rpm, chart, SBOM, checksums.
#   check.sh            what `make release-check` runs
#   check.sh vX.Y.Z     for a tag: the tag is the version, the changelog has its date, the repository's address is real
set -eu
cd "$(dirname "$0")/../.."
say() { echo "release-check: $*"; }
fail() { echo "release-check: $*" >&2; exit 1; }

python=.venv/bin/python
$python deploy/dev/version.py --check
version=$($python deploy/dev/version.py --print)
say "version $version"
if [ $# -gt 0 ]; then
    [ "$1" = "v$version" ] || fail "tag $1: expected v$version"
    grep -qE "^## $version \(20[0-9]{2}-[0-9]{2}-[0-9]{2}\)$" CHANGELOG.md ||
        fail "CHANGELOG.md: expected '## $version (YYYY-MM-DD)'"
    ! grep -q 'https://example.com' exporter/pyproject.toml ||
        fail "exporter/pyproject.toml: the repository's address is a placeholder: deploy/dev/version.py --repository URL"
fi

rm -rf dist
for name in exporter simulator; do
    $python -m build --no-isolation --outdir dist "$name" >/dev/null 2>&1 || fail "$name cannot be built: make package"
done
.venv/bin/twine check --strict dist/*.whl dist/*.tar.gz >/dev/null || .venv/bin/twine check --strict dist/*.whl dist/*.tar.gz

for name in exporter simulator; do
    # With what deb, rpm and image have.
    lock=requirements.txt
    [ "$name" = exporter ] || lock=requirements-simulator.txt
    # It warns that a lock file has no graph of dependencies.
    PYTHONWARNINGS=ignore .venv/bin/cyclonedx-py requirements --pyproject "$name/pyproject.toml" --mc-type application \
        --output-reproducible --validate --output-file "dist/ase-$name-$version.cdx.json" "$lock"
    $python deploy/release/check_sbom.py "dist/ase-$name-$version.cdx.json" "$lock"
done

if command -v helm >/dev/null || command -v go >/dev/null; then
    for values in deploy/helm/ase-exporter/ci/*.yaml; do
        deploy/dev/helm.sh lint --strict --quiet deploy/helm/ase-exporter --values "$values" 2>/dev/null
    done
    deploy/dev/helm.sh package deploy/helm/ase-exporter --destination dist >/dev/null 2>&1
else
    say "neither helm nor go: no chart"
fi
if command -v nfpm >/dev/null || command -v go >/dev/null; then
    deploy/packages/build.sh deb rpm >/dev/null
else
    say "neither nfpm nor go: no deb and no rpm"
fi

(cd dist && sha256sum -- * >SHA256SUMS && sha256sum --quiet --check SHA256SUMS)
ls -l dist
say "good"
