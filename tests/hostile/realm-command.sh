#!/bin/bash
# root
# Root of one host makes the others run nothing: the command of on_event is not kept in a realm, and each host has its own.
. tests/mount/lib.sh
. tests/mount/hosts.inc
hosts_start -o host_timeout=3s,engine_timeout=1s,on_event="cat >>$T/ran"

expect_fail 'Operation not permitted' sh -c 'echo "cat >>$1/other" >"$2"' - "$T" "$A/config/on_event"
grep -q '^PERMISSION_DENIED: on_event is not kept in a store that several hosts share' "$A/why" || fail "$(cat "$A/why")"
expect_equal "$(cat "$A/config/on_event")" "cat >>$T/ran"
unmount_b
mount_b -o host_timeout=3s,engine_timeout=1s
expect_equal "$(cat "$B/config/on_event")" ''
expect_ok touch "$A/custom/by-a@x"
wait_until 'grep -q custom/by-a "$T/ran"'
[ ! -e "$T/other" ] || fail 'was run'
hosts_stop
