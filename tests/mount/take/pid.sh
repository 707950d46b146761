#!/bin/bash
# Locks held as @pid: live as long as that process.
# timeout: 240
. tests/mount/lib.sh

# A lock held as @pid: ends with that process, killed or not, and the next in the queue has it.
holder_dies() {
	mount_fs

	lock=$MNT/custom/x
	mkfifo "$T/hold"
	exec 9<>"$T/hold"
	# Takes the lock for a process that lives until it is told otherwise.
	hold() {
		rm -f "$T/held"
		bash -c 'touch "$1@pid:$$" && : >"$2" && read -r _' - "$lock" "$T/held" <&9 &
		holder=$!
		wait_until '[ -e "$T/held" ]'
	}

	hold
	expect_equal "$(field "$lock" who)" "pid:$holder"
	expect_equal "$(field "$lock" ttl)" never
	expect_fail 'busy' touch "$lock@other"
	kill -KILL $holder
	wait_until '[ ! -e "$lock" ]' 2

	# An ordinary end is an end as well.
	hold
	echo >&9
	expect_ok wait $holder
	wait_until '[ ! -e "$lock" ]' 2

	# The queue moves on.
	hold
	cat "$MNT/wait/custom/x@next" >"$T/out" &
	waiter=$!
	wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
	kill -KILL $holder
	expect_ok wait $waiter
	expect_equal "$(field "$T/out" who)" next
	expect_ok rm "$lock@next"

	# What it had released, and others have taken since, is not its any more.
	hold
	free_lock "$lock"
	expect_ok touch "$lock@other"
	kill -KILL $holder
	wait $holder 2>/dev/null || true
	expect_ok touch "$MNT/custom/y"
	expect_ok touch -c "$lock@other"

	# A ticket goes with its process too.
	bash -c 'touch "$1/queue/custom/x/high@pid:$$" && : >"$2" && read -r _' - "$MNT" "$T/queued" <&9 &
	queued=$!
	wait_until '[ -e "$T/queued" ]'
	expect_equal "$(field "$lock" waiters)" 1
	kill -KILL $queued
	wait_until '[ "$(field "$lock" waiters)" -eq 0 ]' 2
}

# Locks held as @pid: are kept over a restart and a crash of the daemon as long as the process lives, and end when it died
# meanwhile.
kept_over_a_restart() {
	mount_fs

	mkfifo "$T/hold"
	exec 9<>"$T/hold"
	hold() {
		rm -f "$T/held"
		bash -c 'touch "$1@pid:$$" && : >"$2" && read -r _' - "$1" "$T/held" <&9 &
		wait_until '[ -e "$T/held" ]'
	}

	hold "$MNT/custom/a" && a=$!
	hold "$MNT/custom/b" && b=$!
	hold "$MNT/custom/c" && c=$!
	expect_ok touch "$MNT/queue/custom/b/normal@next"
	token=$(field "$MNT/custom/a" token)
	unmount_fs
	kill -KILL "$b"
	wait "$b" 2>/dev/null || true
	mount_fs
	expect_equal "$(field "$MNT/custom/a" who)" "pid:$a"
	expect_equal "$(field "$MNT/custom/a" token)" "$token"
	expect_equal "$(field "$MNT/custom/b" who)" next
	kill_daemon
	kill -KILL "$c"
	wait "$c" 2>/dev/null || true
	mount_fs
	expect_equal "$(field "$MNT/custom/a" who)" "pid:$a"
	[ ! -e "$MNT/custom/c" ] || fail "held by a dead process: $(cat "$MNT/custom/c")"

	# The new daemon watches it as well.
	kill -KILL "$a"
	wait_until '[ ! -e "$MNT/custom/a" ]' 2
}

# @pid: binds a lock to the caller or one of his ancestors, of his own uid; nobody can tie it to a stranger's life.
process_of_another() {
	needs_root
	mount_fs

	lock=$MNT/custom/x
	sleep 1000 &
	stranger=$!
	expect_fail 'Operation not permitted' touch "$lock@pid:$stranger"
	grep -q 'neither yours nor an ancestor' "$MNT/why" || fail "why says: $(cat "$MNT/why")"
	expect_fail 'Operation not permitted' cat "$MNT/wait/custom/x@pid:$stranger"
	expect_fail 'Operation not permitted' touch "$MNT/queue/custom/x/high@pid:$stranger"
	expect_fail 'Operation not permitted' touch "$lock@pid:$DAEMON"
	# An ancestor, but of another user.
	expect_fail 'Operation not permitted' as_user atlt1 touch "$lock@pid:$$"
	expect_fail 'Operation not permitted' as_user atlt1 touch "$lock@pid:1"
	for bad in pid: pid:0 pid:-1 pid:01 pid:x pid:1x pid:99999999999; do
		expect_fail 'Invalid argument' touch "$lock@$bad"
	done
	[ ! -e "$lock" ] || fail "taken: $(cat "$lock")"

	# Any depth of ancestors will do, and threads' processes count.
	expect_ok touch "$lock@pid:$$"
	expect_ok bash -c 'bash -c "touch -c \"$0@pid:$1\"; true"' "$lock" $$
	expect_equal "$(field "$lock" who)" "pid:$$"
	# A stranger can neither renew nor release under that name.
	renewed=$(field "$lock" renewed_at)
	expect_ok as_user atlt1 touch -c "$lock@pid:$$"
	expect_fail 'Operation not permitted' as_user atlt1 touch "$lock@pid:$$"
	expect_fail 'No such file' as_user atlt1 rm "$lock@pid:$$"
	expect_equal "$(field "$lock" renewed_at)" "$renewed"
	expect_equal "$(field "$lock" who)" "pid:$$"
	expect_ok rm "$lock@pid:$$"
}

# So many processes with a lock each, of a daemon that cannot watch all of them. Their numbers are in $pids.
crowd() {
	local i
	ulimit -n 64
	mount_fs
	pids=()
	for i in $(seq 60); do
		bash -c 'touch "$1@pid:$$" 2>/dev/null && exec sleep 60' sh "$MNT/custom/l$i" &
		pids+=($!)
	done
	wait_until '[ "$(ls "$MNT/custom" | wc -l)" -ge 10 ]'
}

crowd_leave() {
	kill "${pids[@]}" 2>/dev/null || true
	wait "${pids[@]}" 2>/dev/null || true
}

# A process that cannot be watched gets no lock that would live as long as it: none is left behind when all are gone.
cannot_be_watched() {
	crowd
	crowd_leave
	wait_until '[ "$(ls "$MNT/custom" | wc -l)" -eq 0 ]' 20
}

# A daemon that has no descriptor left ends as it should.
unmounted_without_descriptors() {
	crowd
	unmount_fs
	crowd_leave
}

behaviours holder_dies kept_over_a_restart process_of_another cannot_be_watched unmounted_without_descriptors
