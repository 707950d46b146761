#!/bin/bash
# What is kept when the daemon is killed.
# timeout: 240
. tests/mount/lib.sh

# A daemon that died means ENOTCONN for everything, and when its mount is taken away the directory underneath lets nobody
# create anything, not even root: no lock ever seems to be taken.
fails_closed() {
	needs_root
	chmod 0777 "$MNT"
	mount_fs

	expect_ok touch "$MNT/custom/x@a"
	exec 7>>"$MNT/custom/x@a"
	crash_daemon
	refuses() {
		local text=$1
		shift
		expect_fail "$text" "$@" touch "$MNT/custom/y"
		expect_fail "$text" "$@" bash -c 'set -C; : >"$1"' - "$MNT/custom/x"
		expect_fail "$text" "$@" bash -c ': >"$1"' - "$MNT/lock"
		expect_fail "$text" "$@" mkdir "$MNT/custom"
		expect_fail "$text" "$@" mkdir -p "$MNT/repos/a/-/b/-"
		expect_fail "$text" "$@" flock "$MNT/lock" true
		expect_fail "$text" "$@" cat "$MNT/custom/x"
		expect_fail "$text" "$@" ln -s x "$MNT/lock"
	}
	refuses 'not connected'
	expect_fail 'not connected' touch -c "$MNT/custom/x@a"
	expect_fail 'not connected' rm -f "$MNT/custom/x@a"
	expect_fail 'not connected' ls "$MNT"
	refuses 'not connected' as_user atlt1
	! echo k=v >&7 2>/dev/null || fail "wrote to a dead daemon"
	exec 7>&-

	# Mounting over it says what to do.
	expect_fail 'fusermount3 -uz' "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$MNT"
	fusermount3 -uz "$MNT"
	refuses '' as_user atlt1
	refuses ''
	expect_equal "$(find "$MNT" -mindepth 1)" ''

	# The next daemon mounts there all the same, and gives the directory back as it was.
	mount_fs
	expect_equal "$(field "$MNT/custom/x" who)" a
	unmount_fs
	expect_equal "$(stat -c %a "$MNT")" 777
	expect_ok touch "$MNT/file"
	expect_ok rm "$MNT/file"
}

# What a flock held is free after a crash of the daemon, since no open file is left to end it; the next ticket has it.
flock_is_over() {
	mount_fs

	"$SYS" open "$MNT/custom/x" rdonly,creat + flock ex + mark "$T/x" + pause &
	"$SYS" open "$MNT/custom/y" rdonly,creat + flock ex + mark "$T/y" + pause &
	wait_until '[ -e "$T/x" ] && [ -e "$T/y" ]'
	expect_ok touch "$MNT/queue/custom/y/normal@next"
	kill_daemon
	mount_fs
	[ ! -e "$MNT/custom/x" ] || fail "held by nobody: $(cat "$MNT/custom/x")"
	expect_equal "$(field "$MNT/custom/y" who)" next
}

# Time passes while no daemon runs: a lease or a place in the queue that ended meanwhile is over.
lease_goes_on() {
	mount_fs -o queue_timeout=1s

	expect_ok touch "$MNT/custom/short@a" "$MNT/custom/long@a"
	expect_ok touch "$MNT/queue/custom/long/high@late"
	echo ttl=1s >"$MNT/custom/short@a"
	end=$(field "$MNT/custom/short" expires_at)
	kill_daemon
	until_after "$end"
	mount_fs
	expect_fail 'No such file' cat "$MNT/custom/short"
	expect_equal "$(field "$MNT/custom/long" who)" a
	expect_equal "$(ls "$MNT/queue/custom/long")" ''
}

# Tickets outlive a crash of the daemon: their order, the time they have left, and the lock's lease are as before. Calls that
# were blocked got an error and have left the queue.
queue() {
	mount_fs -o queue_timeout=5m

	lock=$MNT/custom/x
	queue=$MNT/queue/custom/x
	expect_ok touch "$lock@holder"
	expect_ok touch "$queue/low@c" "$queue/normal@b" "$queue/high@a"
	deadline=()
	for who in b c; do
		name=$(cd "$queue" && echo *@$who)
		deadline[${#deadline[@]}]=$(date -d "$(field "$queue/$name" deadline)" +%s)
	done
	expires=$(date -d "$(field "$lock" expires_at)" +%s)
	cat "$MNT/wait/custom/x@reader" >"$T/out" 2>"$T/err" &
	reader=$!
	bash -c 'echo priority=critical >"$1"' - "$MNT/wait/custom/x@writer" 2>"$T/err-writer" &
	writer=$!
	flock "$lock" true 2>"$T/err-flock" &
	flock=$!
	wait_until '[ "$(field "$lock" waiters)" -eq 6 ]'
	kill_daemon
	for pid in $reader $writer $flock; do
		wait_until "! kill -0 $pid 2>/dev/null" 5
		! wait "$pid" || fail "a waiter was told that it had the lock"
	done
	mount_fs -o queue_timeout=5m

	# shellcheck disable=SC2012 # the order of ls is what this is about
	expect_equal "$(ls "$queue" | sed 's/.*@//' | xargs)" 'a b c'
	i=0
	for who in b c; do
		name=$(cd "$queue" && echo *@$who)
		apart=$(($(date -d "$(field "$queue/$name" deadline)" +%s) - deadline[i]))
		[ "${apart#-}" -le 2 ] || fail "the deadline of $who moved by $apart s"
		i=$((i + 1))
	done
	apart=$(($(date -d "$(field "$lock" expires_at)" +%s) - expires))
	[ "${apart#-}" -le 2 ] || fail "the lease moved by $apart s"
	expect_ok rm "$lock@holder"
	expect_equal "$(field "$lock" who)" a
}

behaviours fails_closed flock_is_over lease_goes_on queue
