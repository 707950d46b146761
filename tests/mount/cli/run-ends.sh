#!/bin/bash
# long
# atlock run: when its lease, its processes or its clock end.
# timeout: 300
. tests/mount/lib.sh

# Whichever process of atlock run is killed with SIGKILL, the command ends, and the locks do not end before it is told to.
killed() {
	mount_fs

	lock=$MNT/custom/x
	# Starts a command with a child of its own; both say when they end. $front, $keeper, $group.
	start() {
		rm -f "$T/begun" "$T/command"
		"$ATLOCK" run -m "$MNT" -l custom/x -l custom/y "$@" -- \
			sh -c 'sleep 600 & echo $$ $! >"$1/command"; : >"$1/begun"; wait' - "$T" 2>"$T/err" &
		front=$!
		wait_until '[ -e "$T/begun" ]'
		keeper=$(field "$lock" pid)
		read -r command child <"$T/command"
		[ "$keeper" -ne "$front" ] || fail "no keeper"
	}
	gone() {
		wait_until 'is_gone $command && is_gone $child && is_gone $keeper && is_gone $front'
		wait_until '[ ! -e "$lock" ] && [ ! -e "$MNT/custom/y" ]'
	}

	start
	kill -KILL $front
	gone
	start
	kill -KILL $keeper
	status=0
	wait $front || status=$?
	expect_equal "$status" 137
	gone

	# A command that does not listen to SIGTERM keeps the lock until SIGKILL ends it.
	cat >"$T/deaf" <<'END2'
trap '' TERM
echo $$ >"$1/command"
: >"$1/begun"
while :; do sleep 0.1; done
END2
	rm "$T/begun"
	"$ATLOCK" run -m "$MNT" -l custom/x -k 2s -- sh "$T/deaf" "$T" &
	front=$!
	wait_until '[ -e "$T/begun" ]'
	read -r command <"$T/command"
	kill -KILL $front
	token=$(field "$lock" token)
	sleep 0.5
	[ -n "$token" ] && expect_equal "$(field "$lock" token)" "$token"
	is_gone "$command" && fail "ended too soon"
	wait_until 'is_gone $command && [ ! -e "$lock" ]'

	# Signals go to the whole group, once, and the status is the command's.
	cat >"$T/count" <<'END2'
trap 'echo int >>"$1/got"' INT
trap 'echo term >>"$1/got"; exit 3' TERM
: >"$1/begun"
while :; do sleep 0.1; done
END2
	rm "$T/begun"
	set -m # or SIGINT would be ignored in the background
	"$ATLOCK" run -m "$MNT" -l custom/x -- sh "$T/count" "$T" &
	front=$!
	set +m
	wait_until '[ -e "$T/begun" ]'
	kill -INT -$front
	wait_until '[ -e "$T/got" ]'
	sleep 0.3
	kill -TERM $front
	status=0
	wait $front || status=$?
	expect_equal "$status" 3
	expect_equal "$(tr '\n' ' ' <"$T/got")" 'int term '
	[ ! -e "$lock" ] || fail "left behind"

	# While it waits, a signal or a kill leaves the queue and gives back what it has.
	for signal in TERM KILL; do
		expect_ok touch "$MNT/custom/y@other"
		"$ATLOCK" run -m "$MNT" -l custom/y -l custom/x -w never -- true &
		front=$!
		wait_until '[ "$(field "$MNT/custom/y" waiters)" = 1 ] && [ -e "$lock" ]'
		kill -$signal $front
		status=0
		wait $front 2>/dev/null || status=$?
		expect_equal "$status" $((128 + $(kill -l $signal)))
		wait_until '[ "$(field "$MNT/custom/y" waiters)" = 0 ] && [ ! -e "$lock" ]'
		expect_ok rm "$MNT/custom/y@other"
	done
}

# If atlock run is killed while the process for its command has just begun, the command does not run: the locks are gone.
killed_early() {
	strace -qqq true 2>/dev/null || skip 'no strace'
	nm -D "$ATLOCK" | grep -E '__(asan|tsan)_init' >/dev/null && skip 'sanitizers do not like being traced'
	mount_fs

	# Each process waits before its first prctl(), which is the one that ties it to its parent.
	strace -f -qqq -o /dev/null -e trace=prctl -e inject=prctl:delay_enter=3000000:when=1 \
		"$ATLOCK" run -m "$MNT" -l custom/x -- touch "$T/ran" >/dev/null 2>&1 &
	traced=$!
	wait_until '[ -e "$MNT/custom/x" ]' 30
	keeper=$(field "$MNT/custom/x" pid)
	wait_until 'pgrep -P "$keeper" >"$T/child"' 30
	child=$(cat "$T/child")
	kill -KILL "$keeper"
	wait "$traced" || true
	wait_until 'is_gone "$child"' 30
	[ ! -e "$T/ran" ] || fail 'it ran without the lock'
	wait_until '[ ! -e "$MNT/custom/x" ]'
}

# atlock run renews its leases, notices when a lock is lost, and then does what --on-lost says.
lost() {
	needs_root
	mount_fs -o max_ttl=1h,default_ttl=2s

	lock=$MNT/custom/x
	begin() {
		rm -f "$T/begun" "$T/go"
		"$ATLOCK" run -m "$MNT" -l custom/x "$@" -- sh -c ': >"$1/begun"; until [ -e "$1/go" ]; do sleep 0.1; done; exit 5' - "$T" \
			2>"$T/err" &
		front=$!
		wait_until '[ -e "$T/begun" ]'
	}
	ends_with() {
		local status=0
		wait "$front" || status=$?
		expect_equal "$status" "$1"
	}

	# A lease of two seconds lasts as long as the command does.
	begin --ttl $((2 * TIME_FACTOR))s
	token=$(field "$lock" token)
	expect_equal "$(field "$lock" ttl)" $((2 * TIME_FACTOR))s
	until_after "$(field "$lock" expires_at)"
	expect_equal "$(field "$lock" token)" "$token"
	touch "$T/go"
	ends_with 5
	[ ! -e "$lock" ] || fail "left behind"

	# Kill: the whole group gets SIGTERM, and SIGKILL if it takes no notice. The status says that it was not done.
	begin
	expect_ok rm "$lock@$(field "$lock" who)"
	ends_with 75
	grep -q 'custom/x.* is lost: the command is told to end' "$T/err" || fail "$(cat "$T/err")"
	cat >"$T/deaf" <<'END2'
trap '' TERM
echo $$ >"$1/command"
: >"$1/begun"
while :; do sleep 0.1; done
END2
	rm "$T/begun"
	"$ATLOCK" run -m "$MNT" -l custom/x -k 300ms -- sh "$T/deaf" "$T" 2>"$T/err" &
	front=$!
	wait_until '[ -e "$T/begun" ]'
	expect_ok rm "$lock@$(field "$lock" who)"
	ends_with 75
	is_gone "$(cat "$T/command")" || fail "it lives"

	# Given to somebody else is lost as well; warn goes on, and what another holds now is not given back.
	begin --on-lost warn
	expect_ok rm "$lock@$(field "$lock" who)"
	expect_ok touch "$lock@other"
	wait_until 'grep -q "goes on without it" "$T/err"' $((20 * TIME_FACTOR))
	touch "$T/go"
	ends_with 5
	expect_equal "$(field "$lock" who)" other
	expect_ok rm "$lock@other"

	# A command of one's own.
	begin --on-lost 'echo "$ATLOCK_LOST" >'"$T/lost"
	expect_ok rm "$lock@$(field "$lock" who)"
	wait_until '[ -s "$T/lost" ]' 20
	grep -q '^custom/x@pid:' "$T/lost" || fail "$(cat "$T/lost")"
	touch "$T/go"
	ends_with 5

	# A daemon that dies and comes back has it still.
	begin
	who=$(field "$lock" who)
	kill_daemon
	sleep 1.5
	mount_fs
	expect_equal "$(field "$lock" who)" "$who"
	sleep 2.5
	is_gone "$front" && fail "ended: $(cat "$T/err")"
	touch "$T/go"
	ends_with 5
	[ ! -e "$lock" ] || fail "left behind"
}

# A lease that ends while another lock is waited for: the command does not run.
lost_while_waiting() {
	mount_fs

	expect_ok touch "$MNT/custom/b@other"
	"$ATLOCK" run -m "$MNT" -l custom/a -l custom/b -w 5m -t 1s -- touch "$T/ran" 2>"$T/err" &
	run=$!
	wait_until '[ -e "$MNT/custom/a" ]'
	wait_until '[ ! -e "$MNT/custom/a" ]' 30
	expect_ok rm "$MNT/custom/b@other"
	status=0
	wait "$run" || status=$?
	expect_equal "$status" 75 "$(cat "$T/err")"
	grep -q 'custom/a@.* was lost while others were waited for: its lease ended' "$T/err" || fail "$(cat "$T/err")"
	[ ! -e "$T/ran" ] || fail 'it ran without the lock'
	[ ! -e "$MNT/custom/b" ] || fail 'the other one is still held'

	# And one that is renewed in time runs.
	expect_ok "$ATLOCK" run -m "$MNT" -l custom/a -l custom/b -w 5m -t 1m -- true
}

# How long ago a lease was renewed is told by the clock, not by how often atlock run looked: while no daemon answers, the command
# goes on for as long as the lease, and no longer, also if the machine slept meanwhile.
clock() {
	nm -D "$ATLOCK" | grep -E '__(asan|tsan)_init' >/dev/null && skip 'a sanitizer must be loaded before anything else'
	mount_fs

	echo '+0' >"$T/clock"
	LD_PRELOAD=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1) FAKETIME_TIMESTAMP_FILE=$T/clock FAKETIME_NO_CACHE=1 \
		"$ATLOCK" run -m "$MNT" -l custom/x -t 1h -- env -u LD_PRELOAD sh -c ': >"$1/begun"; exec sleep 600' - "$T" 2>"$T/err" &
	run=$!
	wait_until '[ -e "$T/begun" ]'
	crash_daemon
	echo '+2h' >"$T/clock"
	status=0
	wait "$run" || status=$?
	expect_equal "$status" 75 "$(cat "$T/err")"
	grep -q 'custom/x@.* is lost' "$T/err" || fail "$(cat "$T/err")"
	fusermount3 -uz "$MNT"
}

behaviours killed killed_early lost lost_while_waiting clock
