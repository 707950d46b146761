#!/bin/bash
# The page of atlock serve where several hosts share a store: the locks, waiters and events of all, and a table of the hosts.
# root
. tests/mount/lib.sh
. tests/mount/hosts.inc
. tests/mount/serve.inc
unshare --uts true || skip 'needs a UTS namespace'

# The second host has a name of its own.
AS_B=(unshare --uts sh -ec 'hostname build-2; exec "$@"' sh)
hosts_start
expect_ok touch "$A/custom/one@a" "$B/custom/two@b" "$B/queue/custom/one/high@b"
serve_start

# How many locks and waiters the table of hosts says that one has.
row() {
	get /status | xmllint --html --xpath "concat(//tr[th/a='$1']/td[1], ' ', //tr[th/a='$1']/td[2])" - 2>/dev/null
}
wait_until "[ \"\$(row build-2)\" = '1 1' ]"
expect_equal "$(row "$(uname -n)")" '1 0'
expect_equal "$(get '/api/locks?host=build-2' | jq -r .lock)" custom/two
expect_equal "$(get '/api/queue?host=build-2' | jq -r .lock)" custom/one
has '/?host=build-2' custom/two || fail 'the table of one host lacks its lock'
! has '/?host=build-2' custom/one || fail 'the table of one host has the lock of another'
has '/lock?name=custom/two' build-2 || fail 'the page of a lock does not name its host'
expect_equal "$(get '/api/events?lock=custom/two&type=acquired' | jq -r .host)" build-2
expect_equal "$(get /health | head -n 1)" ok

# What happens on the other host is seen as it happens.
curl -sSN --max-time 100 "$URL/events" >"$T/stream" 2>/dev/null &
STREAM=$!
wait_until "grep -q 'still here' '$T/stream'" 20
expect_ok touch "$B/custom/three@b"
wait_until "grep -q '\"lock\":\"custom/three\"' '$T/stream'" 20
kill "$STREAM"
wait "$STREAM" || true
serve_stop
expect_ok rm "$B/custom/three@b" "$A/custom/two@b" "$A/custom/one@a" "$A/custom/one@b"
hosts_stop
