#!/bin/bash
# How long and how many may wait.
. tests/mount/lib.sh

# Nobody waits longer than queue_timeout, or than asked: a blocked call gets ETIMEDOUT, a ticket is gone.
timeout_of_a_wait() {
	mount_fs -o queue_timeout=1s

	expect_ok touch "$MNT/custom/x@holder"
	expect_ok touch "$MNT/queue/custom/x/normal@ticket"
	cat "$MNT/wait/custom/x@reader" >"$T/out" 2>"$T/err" &
	reader=$!
	expect_fail 'timed out' flock "$MNT/custom/x" true
	grep -q "custom/x did not become free in time, $(id -un)@[^ ]* has it since 20" "$MNT/why" || fail "$(cat "$MNT/why")"
	status=0
	wait $reader || status=$?
	[ $status -ne 0 ] || fail "got the lock"
	grep -q 'timed out' "$T/err" || fail "$(cat "$T/err")"
	wait_until '[ -z "$(ls "$MNT/queue/custom/x")" ]'

	# The loop of README ends, too, and then the lock is not its own.
	expect_ok touch "$MNT/queue/custom/x/high@loop"
	[ -e "$MNT/queue/custom/x/high@loop" ] || fail 'it does not wait'
	wait_until '! test -e "$MNT/queue/custom/x/high@loop"'
	! test -e "$MNT/custom/x@loop" || fail 'timed out, and has the lock'

	# Its own request may say less or more.
	start=$EPOCHSECONDS
	expect_fail 'timed out' bash -c 'echo timeout=3s >"$1"' - "$MNT/wait/custom/x@writer"
	grep -q TIMEOUT "$MNT/why" || fail "why says: $(cat "$MNT/why")"
	[ $((EPOCHSECONDS - start)) -ge 2 ] || fail "did not wait as long as asked"
	expect_equal "$(field "$MNT/custom/x" who)" holder
	expect_equal "$(ls "$MNT/queue/custom/x")" ''
}

# queue_timeout=auto: ten minutes for a lock that nothing is known of, then by how long it was held before.
automatic_timeout() {
	mount_fs -o queue_timeout=auto

	expect_equal "$(cat "$MNT/config/queue_timeout")" auto
	lock=custom/a
	# How many seconds the ticket of this name has left.
	left() { echo $(($(date -d "$(field "$MNT/queue/$lock/normal@$1" deadline)" +%s) - $(date +%s))); }
	between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ] || fail "$1 is not between $2 and $3"; }

	expect_ok touch "$MNT/$lock@h"
	expect_ok touch "$MNT/queue/$lock/normal@x"
	between "$(left x)" $((600 - 30 * TIME_FACTOR)) 600
	expect_ok rm "$MNT/$lock@h"
	# Held for a moment so far: a minute is enough.
	expect_ok touch "$MNT/queue/$lock/normal@y"
	between "$(left y)" $((60 - 30 * TIME_FACTOR)) 60
}

# max_queue waiters a lock: one more gets EDQUOT, on this lock only, and only until one leaves.
full() {
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
}

behaviours timeout_of_a_wait automatic_timeout full
