#!/bin/bash
# timeout: 300
# Who is killed while the commit that grants him the lock is under way does not get it: the lock is given back, and goes to the
# next if somebody waits. Nothing here goes by time: the commit is held by another writer of LMDB, and it is let go on when the
# daemon has seen that the caller was killed.
. tests/mount/lib.sh
. tests/mount/commits.inc

# Without a log every commit is a transaction of LMDB, and that can be held.
mkdir -p "$STORE/commit.log.new"
mount_fs
[ ! -e "$STORE/commit.log" ] || fail "there is a log"

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
