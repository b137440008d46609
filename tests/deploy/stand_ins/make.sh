#!/bin/sh
# Stand-ins for all images that our compose files name, for an engine that can pull none. They are made of Debian
# packages, and good for tests alone: older versions, a Grafana that draws nothing, this machine's certificates.
# Needs root, debootstrap and docker (DOCKER_HOST); then the tests in test_containers.py find them. An engine by hand:
#   dockerd --data-root D/data --exec-root D/exec -H unix://D/docker.sock --pidfile D/docker.pid
set -eu
cd "$(dirname "$0")"
debian=$(mktemp -d)
trap 'rm -rf "$debian"' EXIT

if ! docker image inspect debian:bookworm-slim >/dev/null 2>&1; then
    debootstrap --variant=minbase bookworm "$debian"
    install -D /etc/ssl/certs/ca-certificates.crt "$debian/etc/ssl/machine.crt"
    tar --create --directory "$debian" . | docker import - debian:bookworm-slim
fi

base=$(sed -n 's/^ARG PYTHON=//p' ../../../deploy/docker/Dockerfile)
named=$(sed -n 's|^ *image: \([^ ]*/[^ ]*\)$|\1|p' \
    ../../../docker-compose.yml ../../../deploy/scale-out/docker-compose.yml | sort -u)
for image in "$base" $named; do
    name=${image##*/}
    docker build --target "${name%%:*}" --tag "$image" .
done
