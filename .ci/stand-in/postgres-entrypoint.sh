#!/usr/bin/env bash
# As the official image's entry point: a cluster at the first start, by POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB.
set -euo pipefail
[ "$1" = postgres ] || exec "$@"
if [ "$(id -u)" = 0 ]; then
  chown postgres:postgres "$PGDATA" && chmod 700 "$PGDATA"
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
user=${POSTGRES_USER:-postgres}
database=${POSTGRES_DB:-$user}
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  : "${POSTGRES_PASSWORD:?}"
  initdb -D "$PGDATA" -U "$user" --auth-local=trust --auth-host=scram-sha-256 --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD")
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  pg_ctl -D "$PGDATA" -w -o "-c listen_addresses=''" start
  [ "$database" = postgres ] || createdb -h /var/run/postgresql -U "$user" "$database"
  pg_ctl -D "$PGDATA" -w -m fast stop
fi
exec "$@" -c listen_addresses='*'
