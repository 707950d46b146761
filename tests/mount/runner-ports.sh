#!/bin/bash
# A server that a test starts gets another port where the first one is taken, and its own again when it is started again.
. "$(dirname "$0")/lib.sh"
server=(python3 -m http.server --bind 127.0.0.1 --directory "$T" '{port}')

RANDOM=1
server_start "${server[@]}"
first=$SERVER taken=$PORT
PORT=
RANDOM=1
server_start "${server[@]}"
[ "$PORT" -ne "$taken" ] || fail 'both at one port'
again=$PORT
server_stop
server_start "${server[@]}"
expect_equal "$PORT" "$again"
server_stop
kill "$first"
wait "$first" || true
