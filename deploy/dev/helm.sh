#!/bin/sh
# Runs helm, which go builds into .venv/go if it is not installed: deploy/dev/helm.sh lint deploy/helm/ase-exporter
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
HELM_VERSION=v3.22.0
helm=$(command -v helm) || {
    helm=$root/.venv/go/helm
    [ -x "$helm" ] || {
        command -v go >/dev/null || { echo "helm.sh: needs helm, or go to build it" >&2; exit 2; }
        GOBIN=$root/.venv/go go install "helm.sh/helm/v3/cmd/helm@$HELM_VERSION"
    }
}
exec "$helm" "$@"
