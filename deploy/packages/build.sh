#!/bin/sh
# Builds dist/ase-exporter_VERSION_ARCH.deb and dist/ase-exporter-VERSION.ARCH.rpm with nfpm.
#   build.sh [deb] [rpm]      PYTHON: the interpreter of the target distribution, /usr/bin/python3 by default
# Needs nfpm, or go, which fetches and builds it. The package needs the same minor version of Python where it is
# installed: build the deb on the Debian, the rpm on the RHEL or SLES that it is for.
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- deb rpm
NFPM_VERSION=v2.45.2
case $(uname -m) in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*) echo "build.sh: expected a machine of x86_64 or aarch64, not $(uname -m)" >&2; exit 2 ;;
esac
# With its version: the package depends on that, and another python3 may be the default.
python=$(readlink -f "${PYTHON:-/usr/bin/python3}")

nfpm=$(command -v nfpm) || {
    command -v go >/dev/null || { echo "build.sh: needs nfpm, or go to build it" >&2; exit 2; }
    tools=$PWD/.venv/go
    [ -x "$tools/nfpm" ] || GOBIN=$tools go install "github.com/goreleaser/nfpm/v2/cmd/nfpm@$NFPM_VERSION"
    nfpm=$tools/nfpm
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
environment=/opt/ase-exporter
root=$work/opt/ase-exporter
"$python" -m venv --without-pip "$work$environment"
pip() {
    .venv/bin/python -m pip --disable-pip-version-check --quiet --python "$root/bin/python" "$@"
}
sed -n '/^setuptools==/,/[^\\]$/p' requirements-dev.txt >"$work/build-requirements.txt"
pip install --no-compile --only-binary :all: --require-hashes -r requirements.txt -r "$work/build-requirements.txt"
pip install --no-compile --no-deps --no-build-isolation ./exporter
pip uninstall --yes setuptools
find "$root/lib" -type d -name tests -prune -exec rm -r {} +
"$root/bin/python" -m compileall -q --invalidation-mode unchecked-hash -s "$work" "$root/lib"

mkdir "$work/units"
cp deploy/systemd/*.service "$work/units"

# The environment will be at another place than it was made at.
rm -f "$root"/bin/activate* "$root"/bin/Activate*
grep -rlI "$work" "$root/bin" "$root/pyvenv.cfg" | while read -r file; do
    sed -i "s|$work||g" "$file"
done
# What pip notes of where it installed from names this machine.
find "$root/lib" -name direct_url.json -delete
find "$root/lib" -path '*.dist-info/RECORD' -exec sed -i '/direct_url.json/d' {} +

minor=$("$python" -c 'import sys; print(sys.version_info[1])')
for kind in "$@"; do
    mkdir -p dist
    VERSION=$(.venv/bin/python deploy/dev/version.py --print) ARCH=$architecture \
        DIST=$work PYTHON=python3.$minor PYTHON_RPM="(python3.$minor or python3$minor)" \
        "$nfpm" package --config deploy/packages/nfpm.yaml --packager "$kind" --target dist/
done
