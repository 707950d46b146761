#!/bin/bash
# long
# The end of a lease: at that instant the lock is free for every call.
# timeout: 240
. tests/mount/lib.sh

# A lock whose lease is over is gone for every call at that instant, and an open file of it is stale.
gone_for_every_call() {
	mount_fs

	lock=$MNT/custom/x
	# Takes the lock and returns when its lease has just ended. Until then it is looked at, so that it may be cached.
	take_and_outlive() {
		touch "$lock@me"
		[ $# -eq 0 ] || eval "$1"
		echo ttl=300ms >"$lock@me"
		end=$(date -d "$(field "$lock" expires_at)" +%s%3N)
		while [ "$(date +%s%3N)" -le "$end" ]; do
			stat "$lock" "$lock@me" >/dev/null 2>&1 || true
		done
	}

	take_and_outlive && expect_fail 'No such file' cat "$lock"
	take_and_outlive && expect_fail 'No such file' stat "$lock"
	take_and_outlive && expect_fail 'No such file' cat "$lock@me"
	take_and_outlive && expect_equal "$(ls "$MNT/custom")" ''
	take_and_outlive && expect_errno ENOENT utimens "$lock@me" now now
	take_and_outlive && expect_errno ENOENT utimens "$lock@me" +60 +60
	take_and_outlive && expect_errno ENOENT open "$lock@me" wronly
	take_and_outlive && expect_errno ENOENT unlink "$lock@me"
	take_and_outlive && expect_errno ENOENT unlink "$lock"
	take_and_outlive && expect_errno ENOENT getxattr "$lock" user.token
	take_and_outlive && touch -c "$lock@me" && expect_errno ENOENT stat "$lock"
	take_and_outlive && expect_equal "$(wc -l <"$MNT/locks.jsonl")" 0
	take_and_outlive && expect_ok touch "$lock@other" && expect_ok rm "$lock@other"
	take_and_outlive && expect_ok "$SYS" open "$lock" rdonly,creat + flock ex,nb && wait_until '[ ! -e "$lock" ]'
	take_and_outlive && expect_ok timeout 5 cat "$MNT/wait/custom/x@other" >"$T/out" && rm "$lock@other"

	# A file opened while it was held.
	take_and_outlive 'exec 7<>"$lock@me"'
	! echo late=1 >&7 2>/dev/null || fail "wrote to a lock that is over"
	! cat <&7 2>"$T/err" || fail "read a lock that is over"
	grep -q 'Stale file handle' "$T/err" || fail "$(cat "$T/err")"
	# Also when somebody else has it now.
	touch "$lock@other"
	! echo late=1 >&7 2>/dev/null || fail "wrote to another's lock"
	exec 7>&-
	expect_equal "$(field "$lock@other" late)" ''
}

# When a lease runs out the next in the queue has the lock, with nobody calling: a blocked reader, then a ticket.
passes_to_the_next() {
	mount_fs

	lock=$MNT/custom/x
	expect_ok touch "$lock@holder"
	printf 'ttl=300ms\n' >"$MNT/wait/custom/x@writer" &
	writer=$!
	wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
	expect_ok touch "$MNT/queue/custom/x/normal@ticket"
	echo ttl=300ms >"$lock@holder"
	expect_ok wait $writer
	wait_until '[ "$(field "$lock" who)" = ticket ]' 2
	expect_ok touch -c "$lock@ticket"
}

# Renewing moves the end: touch -c by the lease it has, a time to come, ttl= and renew= by what they say.
renewing_moves_it() {
	mount_fs -o default_ttl=2s,max_ttl=1h

	lock=$MNT/custom/x
	left() {
		echo $(($(date -d "$(field "$lock" expires_at)" +%s%3N) - $(date +%s%3N)))
	}
	near() {
		local is
		is=$(left)
		if [ "$is" -le $(($1 - 900 * TIME_FACTOR)) ] || [ "$is" -gt $(($1 + 100)) ]; then
			fail "$is ms left instead of $1 after $2"
		fi
	}

	expect_ok touch "$lock@me"
	end=$((EPOCHSECONDS + 4))
	while [ $EPOCHSECONDS -lt $end ]; do
		expect_ok touch -c "$lock@me"
		near 2000 'touch -c'
		sleep 0.3
	done
	expect_ok touch -c -d '+30 minutes' "$lock@me"
	near 1800000 'touch -d'
	expect_ok touch -c "$lock@me"
	near 1800000 'touch -c after touch -d'
	echo ttl=1m >"$lock@me"
	near 60000 ttl=
	echo renew=60s >>"$lock@me"
	near 120000 renew=
	expect_fail 'Invalid argument' touch -c -d '+2 hours' "$lock@me"
	near 120000 'what is above max_ttl'

	# It ends when it was last said to, and not before.
	echo ttl=400ms >"$lock@me"
	expect_ok touch -c "$lock@me"
	wait_until '[ ! -e "$lock" ]'
}

# A lock that another looks at all the time, so that the kernel knows it well, can be taken the instant its lease is over.
seen_through_caches() {
	mount_fs

	lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
	rounds=$((${ROUNDS:-1000} / 500 + 1))
	for ((round = 0; round < rounds; round++)); do
		expect_ok touch "$lock@old"
		expect_ok bash -c 'echo ttl=700ms >"$1"' - "$lock@old"
		end=$(date -d "$(field "$lock" expires_at)" +%s%3N)
		tries=0
		until "$SYS" open "$lock@new" wronly,creat,excl 2>"$T/err"; do
			grep -q EEXIST "$T/err" || fail "$(cat "$T/err")"
			now=$(date +%s%3N)
			[ "$now" -le $((end + 1000 * TIME_FACTOR)) ] || fail "still EEXIST $((now - end)) ms after its end"
			stat "$lock" >/dev/null 2>&1 || true
			# The lock may end between its two looks at it.
			ls -l "${lock%/*}" >/dev/null 2>&1 || true
			tries=$((tries + 1))
		done
		[ "$(date +%s%3N)" -ge "$end" ] || fail "taken before its end"
		[ $tries -gt 0 ] || fail "never refused"
		expect_equal "$(field "$lock" who)" new
		expect_fail 'No such file' rm "$lock@old"
		expect_ok rm "$lock@new"
	done
}

behaviours gone_for_every_call passes_to_the_next renewing_moves_it seen_through_caches
