#!/bin/bash
# A wait that another host ends is told why. One whose answer is lost fails with EIO, and leaves no ticket and no grant behind.
# root
. tests/mount/lib.sh
. tests/mount/hosts.inc

RELAY=yes
hosts_start -o host_timeout=2m,engine_timeout=1s
queue() { ls "$B/queue/custom/x" 2>/dev/null; }

# A closes the circle, and by this policy the older wait gives way: B's.
expect_ok sh -c "echo fifo >'$A/config/deadlock_policy'"
wait_until '[ "$(cat "$B/config/deadlock_policy")" = fifo ]'
expect_ok touch "$A/custom/x@a" "$B/custom/y@b"
(expect_fail 'Resource deadlock avoided' bash -c "echo >'$B/wait/custom/x@b'") &
waiter=$!
wait_until '[ -n "$(ls "$A/queue/custom/x" 2>/dev/null)" ]'
(echo >"$A/wait/custom/y@a") &
other=$!
wait "$waiter" || fail "the wait on B did not end with EDEADLK"
expect_ok rm "$B/custom/y@b"
wait "$other" || fail "the wait on A failed"
expect_ok rm "$A/custom/y@a" "$A/custom/x@a"

# The answer to A's wait is lost: first it is still in the queue when A hears again, then it has been granted meanwhile.
for end in waits granted; do
	expect_ok touch "$B/custom/x@b"
	wait_until '[ -e "$A/custom/x@b" ]' 30
	relay_tell USR1
	! (echo >"$A/wait/custom/x@a") 2>"$T/err" || fail "the wait on A was answered"
	# If the request did not reach the server there is nothing to see, and the first error is another one.
	if grep 'Input/output error' "$T/err" >/dev/null; then
		wait_until '[ -n "$(queue)" ]'
		if [ "$end" = granted ]; then
			expect_ok rm "$B/custom/x@b"
			expect_equal "$(field "$B/custom/x" state)" pending
		fi
	fi
	relay_tell USR2
	wait_until '[ -z "$(queue)" ]' 30
	[ "$end" = granted ] || expect_equal "$(field "$B/custom/x" who)" b
	rm -f "$B/custom/x@b"
	wait_until '[ ! -e "$B/custom/x" ]' 30
done

hosts_stop
