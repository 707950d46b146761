#!/bin/bash
# max_queue waiters a lock: one more gets EDQUOT, on this lock only, and only until one leaves.
. "$(dirname "$0")/lib.sh"
mount_fs -o max_queue=3

queue=$MNT/queue/custom/x
expect_ok touch "$MNT/custom/x@holder" "$MNT/custom/y@holder"
expect_ok touch "$queue/normal@a" "$queue/normal@b"
cat "$MNT/wait/custom/x@c" >/dev/null &
wait_until '[ "$(find "$queue" -type f | wc -l)" -eq 3 ]'
expect_fail 'quota exceeded' touch "$queue/critical@d"
grep -q QUEUE_FULL "$MNT/why" || fail "why says: $(cat "$MNT/why")"
expect_fail 'quota exceeded' cat "$MNT/wait/custom/x@d"
expect_fail 'quota exceeded' bash -c 'echo priority=high >"$1"' - "$MNT/wait/custom/x@d"
expect_fail 'quota exceeded' flock "$MNT/custom/x" true
expect_ok touch "$MNT/queue/custom/y/normal@d"
expect_ok rm "$queue/normal@a"
expect_ok touch "$queue/critical@d"
expect_ok rm "$MNT/custom/x@holder"
expect_equal "$(field "$MNT/custom/x" who)" d
expect_ok rm "$MNT/custom/x@d" "$MNT/custom/x@b"
expect_ok wait $!
