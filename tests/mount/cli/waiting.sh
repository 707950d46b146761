#!/bin/bash
# atlock run, lock and wait say what they wait for: at the beginning and now and then, on a terminal in one line; or not at all.
. tests/mount/lib.sh
mount_fs

# Starts one of them in the background with what it says in $T/said, waits until that has some lines, and ends it.
said_by() {
	local lines=$1 pid
	shift
	: >"$T/said"
	"$ATLOCK" "$1" -m "$MNT" "${@:2}" 2>"$T/said" &
	pid=$!
	wait_until '[ "$(wc -l <"$T/said")" -ge '"$lines"' ]'
	kill -TERM $pid
	wait $pid 2>/dev/null || true
}

lock=custom/x
expect_ok bash -c 'touch "$1@build-17" && echo "reason=hotfix 4711" >>"$1@build-17"' - "$MNT/$lock"
expect_ok touch "$MNT/queue/$lock/high@first"
holder="held by $(id -un)@build-17 for [0-9ms]* (hotfix 4711)"

# What, who has it, since when and why, the place, how long still.
said_by 1 run --lock $lock --wait 10m -- true
grep -qx "atlock run: waiting 0s for $lock, $holder; place 2 of 2; [0-9ms]* left" "$T/said" || fail "$(cat "$T/said")"
said_by 1 lock --wait never --priority critical $lock
grep -qx "atlock lock: waiting 0s for $lock, $holder; place 1 of 2; no time limit" "$T/said" || fail "$(cat "$T/said")"
said_by 1 wait --timeout 10m $lock
grep -qx "atlock wait: waiting 0s for $lock, $holder; place 2 of 2; [0-9ms]* left" "$T/said" || fail "$(cat "$T/said")"
said_by 1 wait --free $lock
grep -qx "atlock wait: waiting 0s for $lock, $holder; no time limit" "$T/said" || fail "$(cat "$T/said")"

# The expected wait, once the lock was passed on.
expect_ok touch "$MNT/custom/known@a" "$MNT/queue/custom/known/high@b" "$MNT/queue/custom/known/high@c"
expect_ok rm "$MNT/custom/known@a"
expect_ok touch -c "$MNT/custom/known@b"
said_by 1 lock --wait 10m custom/known
grep -q '; place 2 of 2, expected wait [0-9]' "$T/said" || fail "$(cat "$T/said")"

# Again and again, and each time as it is then.
said_by 3 run --lock $lock --wait 10m --every 200ms -- true
expect_ok rm "$MNT/queue/$lock/high@first"
said_by 1 run --lock $lock --wait 10m --every 200ms -- true
grep -q 'place 1 of 1' "$T/said" || fail "$(cat "$T/said")"

# Nothing with --quiet, for a lock that is free, and for a refusal; a timeout names lock and holder.
expect_status 75 "$ATLOCK" run -m "$MNT" --lock $lock --wait 600ms --quiet -- true
expect_equal "$(cat "$T/err")" "atlock run: $lock: $(id -un)@build-17 still has it: wait again, or longer (--wait)"
expect_status 75 "$ATLOCK" wait -m "$MNT" --free --timeout 600ms -q $lock
expect_equal "$(cat "$T/err")" "atlock wait: $lock: $(id -un)@build-17 still has it: wait again, or longer (--timeout)"
expect_status 0 "$ATLOCK" run -m "$MNT" --lock custom/free --wait 10m -- true
expect_equal "$(cat "$T/err")" ''
expect_status 1 "$ATLOCK" run -m "$MNT" --lock $lock -- true
expect_equal "$(wc -l <"$T/err")" 1
for bad in 0s soon never; do
	expect_status 64 "$ATLOCK" lock -m "$MNT" --wait 1m --every $bad $lock
done

# On a terminal: one line, written over and gone when the lock is there; never longer than the terminal is wide.
. tests/mount/tmux.inc
export ATLOCK MNT
screen_start 70 10
run_there 'clear; "$ATLOCK" run -m "$MNT" -l custom/x -w 10m -- echo it ""runs'
see "^waiting [0-9]*s for $lock, held by $(id -un)@build-17"
see "^waiting [2-9]s for $lock"
expect_equal "$(screen | grep -c waiting)" 1
expect_equal "$(screen | grep -c .)" 1
expect_ok rm "$MNT/$lock@build-17"
see '^it runs'
see_no waiting
expect_ok touch "$MNT/$lock@build-17"
run_there 'clear; "$ATLOCK" run -q -m "$MNT" -l custom/x -w 700ms -- true; echo en""ded'
see '^ended'
see_no waiting
run_there 'clear; TERM=dumb "$ATLOCK" lock -m "$MNT" -w 2s custom/x; echo fini""shed'
see '^finished'
[[ $(screen | tr -d '\n') = *'atlock lock: waiting 0s for custom/x'* ]] || fail "$(screen)"
screen_end
