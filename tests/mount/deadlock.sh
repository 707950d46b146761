#!/bin/bash
# Two holders that wait for each other: the newest wait is refused with EDEADLK, and the other goes on.
. "$(dirname "$0")/lib.sh"
mount_fs

expect_ok touch "$MNT/custom/a@one" "$MNT/custom/b@two"
cat "$MNT/wait/custom/b@one" >"$T/one" &
one=$!
wait_until '[ -n "$(ls "$MNT/queue/custom/b")" ]'
expect_fail 'deadlock' cat "$MNT/wait/custom/a@two"
grep -q DEADLOCK "$MNT/why" || fail "why says: $(cat "$MNT/why")"
expect_fail 'deadlock' bash -c 'echo priority=critical >"$1"' - "$MNT/wait/custom/a@two"
expect_fail 'deadlock' touch "$MNT/queue/custom/a/normal@two"
expect_equal "$(ls "$MNT/queue/custom/a")" ''
kill -0 $one || fail "the older wait was refused"
expect_ok rm "$MNT/custom/b@two"
expect_ok wait $one
expect_equal "$(field "$T/one" who)" one
