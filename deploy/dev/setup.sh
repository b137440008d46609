#!/bin/sh
# Installs what a make target needs: missing Debian packages, then pinned Python packages in .venv.
#   setup.sh demo   what running needs: FreeTDS, Prometheus, Alertmanager, node_exporter, requirements.txt and
#                   requirements-simulator.txt
#   setup.sh test   the same, and what tests and lint need: FreeTDS's tools, Chromium, requirements-dev.txt (default)
#   setup.sh slow   the same, and what the slow tests need: VictoriaMetrics, npm, perf, systemd's checker
# A second run of a tier, or `demo` after `test`, does nothing.
set -eu
cd "$(dirname "$0")/../.."

tier=${1:-test}

# Debian package:file that exists once it is installed
packages='
python3-venv:/usr/share/doc/python3-venv
unixodbc:/usr/bin/isql
tdsodbc:/usr/share/doc/tdsodbc
prometheus:/usr/bin/prometheus
prometheus-alertmanager:/usr/bin/prometheus-alertmanager
prometheus-node-exporter:/usr/bin/prometheus-node-exporter
'
requirements='requirements.txt requirements-simulator.txt'
case $tier in
demo) ;;
test | slow)
    packages="$packages
freetds-bin:/usr/bin/tsql
curl:/usr/bin/curl
chromium:/usr/bin/chromium
fonts-dejavu-core:/usr/share/fonts/truetype/dejavu
"
    requirements='requirements-dev.txt'
    ;;
*)
    echo "setup: expected demo, test or slow, not $tier" >&2
    exit 2
    ;;
esac
[ "$tier" != slow ] || packages="$packages
victoria-metrics:/usr/bin/victoria-metrics
npm:/usr/bin/npm
linux-perf:/usr/bin/perf
systemd:/usr/bin/systemd-analyze
"

missing=
for entry in $packages; do
    [ -e "${entry#*:}" ] || missing="$missing ${entry%%:*}"
done

# PYTHON_ONLY=1: .venv alone, for `make test-unit`
if [ -n "$missing" ] && [ -z "${PYTHON_ONLY:-}" ]; then
    if ! command -v apt-get >/dev/null; then
        echo "setup: this is not Debian or Ubuntu; please install by hand:$missing" >&2
        exit 2
    fi
    sudo=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "setup: needs root or sudo to install:$missing" >&2; exit 2; }
        sudo=sudo
    fi
    echo "setup: installing$missing"
    # Keep the packages from starting services: demo and tests run their own on loopback. policy-rc.d is
    # Debian's mechanism for this; an existing policy is left alone.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
        $sudo chmod +x "$policy"
        trap '$sudo rm -f "$policy"' EXIT
    fi
    apt_get() {
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq "$@" >/dev/null
    }
    apt_get update || { sleep 5; apt_get update; }
    # shellcheck disable=SC2086  # one argument per package
    apt_get install -y --no-install-recommends $missing || {
        sleep 5
        # shellcheck disable=SC2086
        apt_get install -y --no-install-recommends $missing
    }
fi

PYTHON=${PYTHON:-python3}
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "setup: $PYTHON is older than 3.11; set PYTHON=… to a newer one" >&2
    exit 2
}

# One stamp per tier: the checksum of what it was installed from. Slow tests need no more Python than the others.
[ "$tier" != slow ] || tier="test"
wanted=$(cat requirements*.txt exporter/pyproject.toml simulator/pyproject.toml | sha256sum)
if [ ! -x .venv/bin/python ] || [ "$(cat ".venv/installed-$tier" 2>/dev/null)" != "$wanted" ]; then
    echo "setup: installing Python packages into .venv, which takes a minute or so"
    [ -x .venv/bin/python ] || "$PYTHON" -m venv .venv
    pip() {
        .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"
    }
    # setuptools builds the package; requirements-dev.txt pins it for both tiers.
    sed -n '/^setuptools==/,/[^\\]$/p' requirements-dev.txt >.venv/build-requirements.txt
    set --
    for file in $requirements .venv/build-requirements.txt; do
        set -- "$@" -r "$file"
    done
    # The lock files are complete, so nothing has to be resolved; what is imported is compiled then.
    pip --no-deps --no-compile --require-hashes "$@"
    # One after the other: an environment from before 0.1.0 has one distribution with both commands, and replacing it
    # must not remove the new ase-simulator.
    pip --no-deps --no-build-isolation --editable ./exporter
    pip --no-deps --no-build-isolation --editable ./simulator
    printf '%s' "$wanted" >.venv/installed-demo
    [ "$tier" = demo ] || cp .venv/installed-demo .venv/installed-test
fi
