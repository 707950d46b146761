#!/bin/bash
# At midnight (UTC) a new file begins, events/live leads to it, and whoever follows that with tail -F misses nothing.
. "$(dirname "$0")/lib.sh"

# The daemon's wall clock begins ten seconds before midnight; only the daemon's.
faketime=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1)
nm -D "$ATLOCKFS_BUILD/atlockfs" | grep -E '__(asan|tsan)_init' >/dev/null && skip 'a sanitizer must be loaded before anything else'
export TZ=UTC
LD_PRELOAD=$faketime FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME='@2031-05-31 23:59:50' mount_fs

first=2031-05-31.jsonl
second=2031-06-01.jsonl
expect_equal "$(readlink "$MNT/events/live")" "$first"
stdbuf -oL tail -n +1 -F -s 0.1 "$MNT/events/live" >"$T/followed" 2>/dev/null &
follower=$!
expect_ok touch "$MNT/global/before"
wait_until '[ "$(readlink "$MNT/events/live")" = "$second" ]' 30
expect_equal "$(ls "$MNT/events")" "$first"$'\n'"$second"$'\n'live
expect_equal "$(stat -c %s "$MNT/events/$second")" 0
expect_ok touch "$MNT/global/after"
expect_equal "$(jq -r 'select(.type == "acquired") | .lock + " " + .time[:10]' "$MNT/events/$first")" 'global/before 2031-05-31'
expect_equal "$(jq -r 'select(.type == "acquired") | .lock + " " + .time[:10]' "$MNT/events/$second")" 'global/after 2031-06-01'
expect_equal "$(head -n 1 "$MNT/events/$second" | jq -r .prev)" "$(tail -n 1 "$MNT/events/$first" | jq -r .hash)" 'the chain goes on'
expect_ok "$ATLOCK" -m "$MNT" audit verify >/dev/null
wait_until 'cat "$MNT/events/$first" "$MNT/events/$second" | cmp -s - "$T/followed"' 20
kill "$follower"
wait "$follower" 2>/dev/null || true
