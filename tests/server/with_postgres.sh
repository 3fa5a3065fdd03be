#!/bin/bash
# with_postgres.sh - runs a command with a PostgreSQL server of its own, which is stopped afterwards.
#
#     with_postgres.sh COMMAND...
#
# The server lives in a temporary directory and listens on a Unix socket there, nowhere else. The command finds it by
# PGHOST, PGUSER and INMO_TEST_POSTGRES=postgresql:///; its data are in INMO_TEST_PGDATA, and INMO_TEST_PGCTL is a command
# that takes start, stop and -m. As root it runs as the user postgres, since the server refuses root.
# Ends with 77 where PostgreSQL is not installed.
set -euo pipefail

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1 || true)
if [ -z "$bin" ] && command -v initdb >/dev/null; then
    bin=$(dirname "$(command -v initdb)")
fi
if [ -z "$bin" ] || [ ! -x "$bin/initdb" ]; then
    echo "with_postgres: skipped: PostgreSQL is not installed" >&2
    exit 77
fi

folder=$(mktemp -d /tmp/inmo-pg-XXXXXX) # a socket's path must be short
as=()
if [ "$(id -u)" -eq 0 ]; then
    as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
    chown postgres "$folder"
fi
chmod 755 "$folder"
ctl="$folder/ctl"
cat >"$ctl" <<END
#!/bin/bash
cd "$folder" && exec ${as[*]} "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -t 60 \
    -o "-c listen_addresses='' -c unix_socket_directories='$folder' -c max_connections=50 \${INMO_TEST_PGOPTIONS-}" "\$@" >/dev/null
END
chmod 755 "$ctl"
stop() {
    "$ctl" stop -m immediate 2>/dev/null || true
    rm -rf "$folder"
}
trap stop EXIT

cd "$folder"
"${as[@]}" env LC_ALL=C "$bin/initdb" -D "$folder/data" -U inmo -A trust -E UTF8 --no-sync >"$folder/initdb.log" 2>&1 || {
    tail -n 5 "$folder/initdb.log" >&2
    exit 1
}
"$ctl" start || {
    tail -n 5 "$folder/log" >&2
    exit 1
}
cd "$OLDPWD"
export PGHOST=$folder PGUSER=inmo INMO_TEST_POSTGRES=postgresql:/// INMO_TEST_PGDATA=$folder/data INMO_TEST_PGCTL=$ctl
"$@"
