#!/bin/sh
# After removing. Configuration and history stay; `apt-get purge` removes them and the user.
set -eu
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
if [ "${1:-}" = purge ]; then
    rm -rf /var/lib/ase-exporter /var/lib/ase-exporter-host /etc/ase-exporter
    # Fails while a process of the user runs, such as a check in another terminal.
    userdel ase-exporter || echo "ase-exporter: the user ase-exporter was not removed" >&2
fi
