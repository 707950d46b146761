#!/bin/bash
# Reading and writing wait/<lock> return when the lock is the caller's.
. tests/mount/lib.sh

# `cat wait/<lock>` returns when the lock is the caller's, and prints it: at once if it is free or his already.
by_read() {
	mount_fs

	lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
	waits=$MNT/wait/repos/acme/infra/-/modules/vpc/-/production
	cat "$waits@build-17" >"$T/free"
	expect_equal "$(cat "$T/free")" "$(cat "$lock")"
	expect_equal "$(field "$lock" who)" build-17
	expect_equal "$(field "$lock" state)" acquired
	expect_equal "$(field <(cat "$waits@build-17") token)" "$(field "$lock" token)"

	cat "$waits@build-18" >"$T/waited" &
	waiter=$!
	wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
	[ ! -s "$T/waited" ] || fail "printed before it had the lock"
	expect_ok rm "$lock@build-17"
	expect_ok wait $waiter
	expect_equal "$(field "$T/waited" who)" build-18
	expect_equal "$(field "$T/waited" state)" acquired
	expect_equal "$(field "$lock" who)" build-18

	# It is held after the reader has gone, and needs no taking up.
	expect_fail 'busy' touch "$lock@build-19"
	expect_ok rm "$lock@build-18"

	# Without a name the session waits.
	expect_ok touch "$lock@other"
	cat "$waits" >"$T/session" &
	waiter=$!
	wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
	expect_ok rm "$lock@other"
	expect_ok wait $waiter
	expect_ok touch "$lock"
	expect_ok rm "$lock"

	# Listing wait/ finds nothing to hang on, and touch does not pretend to wait.
	expect_equal "$(find "$MNT/wait" -type f)" ''
	expect_fail 'not permitted' touch "$waits@build-20"
	expect_fail 'not permitted' touch -c "$waits@build-20"
	[ ! -e "$lock" ] || fail "taken by looking"
}

# A write to wait/<lock> blocks until the lock is the caller's; its lines are the request: priority, lease, metadata.
by_write() {
	mount_fs

	lock=$MNT/custom/x
	queue=$MNT/queue/custom/x
	request() {
		printf '%b' "$2" | dd of="$MNT/wait/custom/x@$1" bs=4096 conv=notrunc status=none 2>"$T/err-$1"
	}

	expect_ok touch "$lock@holder"
	request n 'ttl=10m\nreason=nightly run\n' &
	normal=$!
	wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
	request h 'priority=high\nttl=2h\n' &
	high=$!
	wait_until '[ "$(field "$lock" waiters)" -eq 2 ]'
	# shellcheck disable=SC2012 # the order of ls is what this is about
	expect_equal "$(ls "$queue" | sed 's/.*@//' | xargs)" 'h n'
	expect_equal "$(field "$queue/high@h" ttl)" 2h

	expect_ok rm "$lock@holder"
	expect_ok wait $high
	expect_equal "$(field "$lock" who)" h
	expect_equal "$(field "$lock" ttl)" 2h
	expect_equal "$(field "$lock" priority)" high
	kill -0 $normal || fail "both got it"
	expect_ok rm "$lock@h"
	expect_ok wait $normal
	expect_equal "$(field "$lock" ttl)" 10m
	expect_equal "$(field "$lock" reason)" 'nightly run'

	# As the shell writes it.
	expect_ok rm "$lock@n"
	printf 'priority=low\nttl=5m\n' >"$MNT/wait/custom/x@printf"
	expect_equal "$(field "$lock" who)" printf
	expect_equal "$(field "$lock" ttl)" 5m

	# For what one holds already, it is acquiring it again.
	expect_ok request printf 'ttl=7m\nreason=again\n'
	expect_equal "$(field "$lock" ttl)" 7m
	expect_equal "$(field "$lock" reason)" again

	# A bad request is refused at once, and nobody waits.
	for bad in 'priority=urgent' 'ttl=soon' 'ttl=99h' 'timeout=x'; do
		! request bad "$bad\n" || fail "taken: $bad"
		grep -q 'Invalid argument' "$T/err-bad" || fail "$bad: $(cat "$T/err-bad")"
	done
	expect_equal "$(ls "$queue")" ''
}

# A request of no bytes has asked for nothing, and does not look like one that was granted.
by_writing_nothing() {
	mount_fs

	expect_ok touch "$MNT/custom/x@holder"
	: >"$T/empty"
	expect_fail 'No data available' cp "$T/empty" "$MNT/wait/custom/x@build"
	expect_fail 'not permitted' truncate -s 0 "$MNT/wait/custom/x@build"
	expect_fail 'No data available' dd if="$T/empty" of="$MNT/wait/custom/x@build" status=none
	expect_fail 'No data available' sh -c 'cat "$1" >"$2"' - "$T/empty" "$MNT/wait/custom/x@build"
	expect_fail 'No data available' python3 -c 'import sys; open(sys.argv[1], "w").close()' "$MNT/wait/custom/x@build"
	wait_until 'grep -q "^INVALID_REQUEST: nothing was written to wait/.../x@build" "$MNT/why"'
	expect_equal "$(field "$MNT/custom/x" who)" holder
	expect_equal "$(field "$MNT/custom/x" waiters)" 0
}

behaviours by_read by_write by_writing_nothing
