#!/bin/sh
# Starts one of the images of docker-compose.yml, runs the real suite (`make test-real`) against it, and removes it.
#   ACCEPT_LICENCE=yes run.sh ase157|ase160|ase160utf8|ase161
# REAL_ASE_REPORTS: the folder of what the suite writes (build/real-ase/SERVICE); REAL_ASE_SECONDS: of scraping (600).
set -eu
cd "$(dirname "$0")"

# The line of the image's log after which its own set-up no longer changes the server, how often it comes (the images of
# linq2db stop twice, see docker-compose.yml), and the published password of sa.
times=1 password=myPassword
case ${1:-} in
ase157) ready='CREATING SCHEMA' password=password ;;
ase160) ready='SYBASE INITIALIZED' ;;
ase160utf8 | ase161) ready='SYBASE STARTED' times=2 ;;
*)
    echo "run.sh: expected ase157, ase160, ase160utf8 or ase161" >&2
    exit 2
    ;;
esac
service=$1
if [ "${ACCEPT_LICENCE:-}" != yes ]; then
    echo "run.sh: the image holds software of SAP; set ACCEPT_LICENCE=yes if you accept its licence terms" >&2
    exit 2
fi
reports=${REAL_ASE_REPORTS:-$PWD/../../build/real-ase/$service}
mkdir -p "$reports"

finish() {
    docker compose logs --no-color "$service" >"$reports/container.log" 2>&1 || true
    docker compose down --volumes "$service" || true
}
trap finish EXIT
docker compose up --detach "$service"

# linq2db waits up to 500 s for the first start alone.
waits=0
until [ "$(docker compose logs "$service" | grep -c "$ready")" -ge "$times" ] &&
    [ "$(docker inspect --format '{{.State.Health.Status}}' "$(docker compose ps --quiet "$service")")" = healthy ]; do
    waits=$((waits + 1))
    if [ "$waits" -gt 240 ]; then
        echo "run.sh: $service is not ready after 20 minutes" >&2
        exit 1
    fi
    sleep 5
done

REAL_ASE_HOST=127.0.0.1 REAL_ASE_SA_PASSWORD=$password REAL_ASE_PASSWORD=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n') \
    REAL_ASE_REPORTS=$reports make -C ../.. test-real
