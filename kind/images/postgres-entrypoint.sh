#!/usr/bin/env bash
# Runs Postgres for a bench: makes the cluster, its roles and its database on first start, then execs the server.
# Further arguments go to postgres, so a chart can add settings (`-c max_connections=50`).
#
# Environment
#   PGDATA               the data folder, below a volume's mount point; an existing cluster in it is used as it is
#   POSTGRES_DB          the database (space)
#   POSTGRES_USER        the role the services use (space): no superuser, may not create roles or databases
#   POSTGRES_PASSWORD    its password; required
#   POSTGRES_OWNER       the role that owns the database and runs migrations; when empty, POSTGRES_USER owns it
#   POSTGRES_OWNER_PASSWORD  its password; required with POSTGRES_OWNER
#   POSTGRES_TLS_CERT, POSTGRES_TLS_KEY  files of a server certificate; with them, only TLS connections are accepted
set -euo pipefail

: "${PGDATA:?PGDATA must name the data folder}"
: "${POSTGRES_PASSWORD:?POSTGRES_PASSWORD must hold the password of POSTGRES_USER}"
database=${POSTGRES_DB:-space}
user=${POSTGRES_USER:-space}
owner=${POSTGRES_OWNER:-$user}
socket=/var/run/postgresql
[ "$owner" = "$user" ] || : "${POSTGRES_OWNER_PASSWORD:?POSTGRES_OWNER_PASSWORD must be set with POSTGRES_OWNER}"

settings=(-c "listen_addresses=*" -c "unix_socket_directories=$socket" -c password_encryption=scram-sha-256)
remote=host
if [ -n "${POSTGRES_TLS_CERT:-}" ]; then
  settings+=(-c ssl=on -c "ssl_cert_file=$POSTGRES_TLS_CERT" -c "ssl_key_file=${POSTGRES_TLS_KEY:?}")
  remote=hostssl
fi

roles() { # psql variables do the quoting, so names and passwords may hold any character
  cat <<'SQL'
CREATE ROLE :"owner" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'owner_password';
SELECT :'owner' <> :'user' AS separate \gset
\if :separate
CREATE ROLE :"user" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'user_password';
\endif
CREATE DATABASE :"database" OWNER :"owner" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8';
\connect :"database"
ALTER SCHEMA public OWNER TO :"owner";
\if :separate
GRANT USAGE ON SCHEMA public TO :"user";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO :"user";
\endif
SQL
}

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # Made beside the final place and moved there at the end, so that a pod killed half way starts afresh.
  fresh=$PGDATA.new
  rm -rf "$fresh"
  mkdir -p "$fresh"
  initdb --no-sync --no-instructions --username=postgres --encoding=UTF8 --locale=C.UTF-8 \
    --auth-local=trust --auth-host=scram-sha-256 --pgdata="$fresh" >/dev/null
  # Only the socket is open, so nobody can reach the database before its roles exist.
  pg_ctl --pgdata="$fresh" --silent --wait --timeout=60 \
    --options="-c listen_addresses='' -c unix_socket_directories=$socket -c fsync=off" start >/dev/null
  roles | psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --host="$socket" --username=postgres --dbname=postgres \
    --set=database="$database" --set=user="$user" --set=user_password="$POSTGRES_PASSWORD" \
    --set=owner="$owner" --set=owner_password="${POSTGRES_OWNER_PASSWORD:-$POSTGRES_PASSWORD}"
  pg_ctl --pgdata="$fresh" --silent --wait --mode=fast stop >/dev/null
  sync
  mv -T "$fresh" "$PGDATA"
fi

# Written on every start, because whether TLS is asked for may have changed since the cluster was made.
cat >"$PGDATA/pg_hba.conf" <<EOF_HBA
local   all all               trust
$remote all all 0.0.0.0/0     scram-sha-256
$remote all all ::0/0         scram-sha-256
EOF_HBA

exec postgres -D "$PGDATA" "${settings[@]}" "$@"
