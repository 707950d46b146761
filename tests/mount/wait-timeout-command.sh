#!/bin/bash
# `timeout 1 cat wait/<lock>` is gone after a second and has left the queue, whoever is served next.
. "$(dirname "$0")/lib.sh"
mount_fs

expect_ok touch "$MNT/custom/x@holder"
status=0
timeout 1 cat "$MNT/wait/custom/x@impatient" || status=$?
expect_equal $status 124
expect_equal "$(ls "$MNT/queue/custom/x")" ''
status=0
timeout 1 bash -c 'echo priority=critical >"$1"' - "$MNT/wait/custom/x@impatient" || status=$?
expect_equal $status 124
expect_equal "$(ls "$MNT/queue/custom/x")" ''
status=0
timeout 1 flock "$MNT/custom/x" true || status=$?
expect_equal $status 124
expect_equal "$(ls "$MNT/queue/custom/x")" ''
status=0
flock -w 0.5 "$MNT/custom/x" true || status=$?
expect_equal $status 1
expect_equal "$(ls "$MNT/queue/custom/x")" ''
expect_ok rm "$MNT/custom/x@holder"
[ ! -e "$MNT/custom/x" ] || fail "granted to somebody who had left: $(cat "$MNT/custom/x")"
