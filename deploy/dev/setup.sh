#!/bin/sh
# Makes a machine ready: the Debian packages that are missing (and only those), then .venv with pinned Python
# packages. Run again it does nothing that is done already.
set -eu
cd "$(dirname "$0")/../.."

# package:file that shows it is there
PACKAGES='
python3-venv:/usr/share/doc/python3-venv
unixodbc:/usr/bin/isql
tdsodbc:/usr/share/doc/tdsodbc
freetds-bin:/usr/bin/tsql
prometheus:/usr/bin/prometheus
prometheus-alertmanager:/usr/bin/prometheus-alertmanager
prometheus-node-exporter:/usr/bin/prometheus-node-exporter
postgresql:/usr/lib/postgresql
curl:/usr/bin/curl
chromium:/usr/bin/chromium
fonts-dejavu-core:/usr/share/fonts/truetype/dejavu
'

missing=
for entry in $PACKAGES; do
    [ -e "${entry#*:}" ] || missing="$missing ${entry%%:*}"
done

if [ -n "$missing" ]; then
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
    # Services must not start: the demo and the tests run their own on loopback. policy-rc.d is the
    # Debian way to say so; a policy that is already there stays.
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
    # shellcheck disable=SC2086  # one word a package
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

stamp=.venv/installed-from
wanted=$(cat requirements.txt requirements-dev.txt pyproject.toml | sha256sum)
if [ ! -x .venv/bin/python ] || [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    echo "setup: building .venv, which takes a minute or so"
    [ -x .venv/bin/python ] || "$PYTHON" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
    printf '%s' "$wanted" >"$stamp"
fi
