#!/bin/bash
# Whichever process of atlock run is killed with SIGKILL, the command ends, and the locks do not end before it is told to.
. "$(dirname "$0")/lib.sh"
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
