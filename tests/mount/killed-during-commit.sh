#!/bin/bash
# timeout: 300
# Who is killed while the commit that grants him the lock is under way does not get it: the lock is given back, and goes to the
# next if somebody waits. Nothing here goes by time: the commit is held by another writer of LMDB, and it is let go on when the
# daemon has seen that the caller was killed.
. "$(dirname "$0")/lib.sh"
WRITER=$(dirname "$SYS")/writer

# Without a log every commit is a transaction of LMDB, and that can be held.
mkdir -p "$STORE/commit.log.new"
mount_fs
[ ! -e "$STORE/commit.log" ] || fail "there is a log"

# Whoever is started meanwhile must not have descriptor 8.
commits_hold() {
	rm -f "$T/hold" "$T/held"
	mkfifo "$T/hold"
	"$WRITER" "$STORE" <"$T/hold" >"$T/held" &
	writer=$!
	exec 8>"$T/hold"
	wait_until '[ -s "$T/held" ]' 60
}

commits_go_on() {
	exec 8>&-
	wait "$writer"
}

# Whether one of the daemon's threads is in a system call about LMDB's lock on writers, which is in lock.mdb.
commit_is_held() {
	local range call task
	range=$(sed -n 's|^\([0-9a-f]*\)-\([0-9a-f]*\) .*/lock\.mdb$|0x\1 0x\2|p' "/proc/$DAEMON/maps")
	for task in "/proc/$DAEMON/task"/*; do
		# A thread that runs has no call to show.
		read -r -a call <"$task/syscall" || continue
		[ "${#call[@]}" -gt 1 ] || continue
		# shellcheck disable=SC2086 # two numbers
		within "${call[1]}" $range && return
	done 2>/dev/null
	return 1
}

# Addresses of processes are below 2^63.
within() {
	(($2 <= $1 && $1 < $3)) 2>/dev/null
}

# What all threads of the daemon were doing, and how often they have done something else.
daemon_state() {
	grep -hE '^State|ctxt_switches' "/proc/$DAEMON/task"/*/status
}

# Whether there was a moment at which all of them slept: nothing that they were told is unread or being worked on.
daemon_sleeps() {
	local state
	state=$(daemon_state)
	! grep -q '^State:.[^S]' <<<"$state" && [ "$(daemon_state)" = "$state" ]
}

# Kills a process that waits for the daemon. The kernel lets it go when its call is answered; when it cannot be interrupted any
# more, the daemon has been told.
kill_waiting() {
	kill -KILL "$1"
	wait_until "grep -q '^State:.D' /proc/$1/status" 60
	wait_until daemon_sleeps 60
	commit_is_held || fail "the commit went on"
}

# How often this happened to a lock of the victim's.
count() {
	cat "$MNT/events/"*.jsonl | jq -s --arg event "$1" --arg lock "$2" \
		'[.[] | select(.type == $event and .lock == $lock and (.who | test("^victim|^flock:")))] | length'
}

expect_given_back() {
	expect_equal "$(count acquired "$1")" 1 "$1 acquired"
	expect_equal "$(count released "$1")" 1 "$1 released"
}

for how in read write flock try; do
	lock=custom/$how
	commits_hold
	case $how in
	read) cat "$MNT/wait/$lock@victim" >/dev/null 8>&- & ;;
	write) "$SYS" open "$MNT/wait/$lock@victim" wronly + write priority=high 8>&- & ;;
	flock) flock "$MNT/$lock" true 8>&- & ;;
	try) flock --nonblock "$MNT/$lock" true 8>&- & ;;
	esac
	victim=$!
	wait_until commit_is_held 60
	kill_waiting $victim
	commits_go_on
	! wait $victim 2>/dev/null || fail "$how ended well"
	[ ! -e "$MNT/$lock" ] || fail "somebody who was killed has it: $(cat "$MNT/$lock")"
	expect_given_back "$lock"
done

# One who waits, while the commit is under way that hands him the lock.
lock=custom/queue
expect_ok touch "$MNT/$lock@holder"
cat "$MNT/wait/$lock@victim" >/dev/null &
victim=$!
wait_until '[ "$(field "$MNT/$lock" waiters)" -eq 1 ]' 60
expect_ok touch "$MNT/queue/$lock/low@patient"
commits_hold
rm "$MNT/$lock@holder" 8>&- &
rm=$!
wait_until commit_is_held 60
kill_waiting $victim
commits_go_on
expect_ok wait $rm
! wait $victim 2>/dev/null || fail "the wait ended well"
wait_until '[ "$(field "$MNT/$lock" who)" = patient ]' 60
expect_equal "$(count granted "$lock")" 1 "granted"
