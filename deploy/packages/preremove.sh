#!/bin/sh
# Before removing (deb: $1 is remove; rpm: $1 is 0), but not before an upgrade: stop the services.
set -eu
case ${1:-} in
remove | 0)
    if [ -d /run/systemd/system ]; then
        systemctl disable --now ase-exporter.service ase-exporter-host.service
    fi
    ;;
esac
