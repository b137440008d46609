#!/bin/sh
# After installing: the user, the driver's section of odbcinst.ini where the distribution leaves it out.
set -eu
getent group ase-exporter >/dev/null || groupadd --system ase-exporter
getent passwd ase-exporter >/dev/null || useradd --system --gid ase-exporter --no-create-home \
    --home-dir /var/lib/ase-exporter --shell /usr/sbin/nologin ase-exporter
# Before the service makes it, so that commands of its user count refused logins there from the start.
install -d -o ase-exporter -g ase-exporter -m 0750 /var/lib/ase-exporter
chgrp ase-exporter /etc/ase-exporter/exporter.yaml
chmod 0640 /etc/ase-exporter/exporter.yaml

if ! grep -qs '^\[FreeTDS\]' /etc/odbcinst.ini; then
    for driver in /usr/lib64/libtdsodbc.so /usr/lib64/libtdsodbc.so.0; do
        [ -e "$driver" ] || continue
        printf '[FreeTDS]\nDescription = FreeTDS\nDriver = %s\n' "$driver" >>/etc/odbcinst.ini
        break
    done
fi

if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    # An upgrade restarts what runs; a first installation starts nothing, because it knows no server.
    systemctl try-restart ase-exporter.service ase-exporter-host.service
fi
