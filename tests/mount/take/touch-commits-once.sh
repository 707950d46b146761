#!/bin/bash
# root
# Taking a free lock by touch is one commit and one event: what its second step asks for, a lease from now on, has just begun.
# Whoever comes later, or as another process, or has changed the lock meanwhile, renews.
. tests/mount/lib.sh
mount_fs -o max_ttl=2h

# The events of a lock, in order.
events() {
	cat "$MNT"/events/*.jsonl | jq -r --arg lock "custom/$1" 'select(.lock == $lock) | .type' | xargs
}

# A machine that is busy may take longer than a moment between the two steps: then another lock is taken.
expect_once() {
	local want=$1 i
	shift
	for i in 1 2 3 4 5 6 7 8; do
		name=new$((++number))
		expect_ok "$@"
		[ "$(events "$name")" != "$want" ] || return 0
	done
	fail "\"$(events "$name")\" instead of \"$want\" after: $*"
}
number=0
name=
take() { touch "$MNT/custom/$name$1"; }
take_by_name() { "$SYS" open "$MNT/custom/$name" wronly,creat,excl + utimens "$MNT/custom/$name" now now; }
expect_once acquired take ''
expect_once acquired take @me
expect_once acquired take "@pid:$$"
expect_once acquired take_by_name
expect_equal "$(field "$MNT/custom/$name" version)" 1
expect_equal "$(field "$MNT/custom/$name" renewed_at)" "$(field "$MNT/custom/$name" acquired_at)"

# Counted at the disk.
strace -f -qq -o "$T/syncs" -p "$DAEMON" -e trace=fdatasync -P "$STORE/commit.log" &
tracer=$!
wait_until '! grep -qhx "TracerPid:.0" /proc/$DAEMON/task/*/status' 60
syncs() { grep -c 'fdatasync.*= 0$' "$T/syncs" || true; }
for name in d1 d2 d3 d4 d5 d6 d7 d8; do
	before=$(syncs)
	expect_ok take @me
	# What comes last is in the file when the next is.
	expect_ok touch "$MNT/custom/mark@me"
	expect_ok rm "$MNT/custom/mark@me"
	wait_until '[ "$(syncs)" -ge $((before + 3)) ]' 60
	[ "$(events "$name")" = acquired ] || continue
	expect_equal "$(syncs)" $((before + 3)) 'syncs of the log'
	break
done
expect_equal "$(events "$name")" acquired
kill -INT "$tracer"
wait "$tracer" || true

# Another process means what it says.
expect_ok touch "$MNT/custom/x"
expect_ok touch "$MNT/custom/x"
expect_equal "$(events x | sed 's/^acquired renewed renewed$/acquired renewed/')" 'acquired renewed'
expect_ok touch -c "$MNT/custom/x"
expect_equal "$(events x | grep -o renewed | tail -n +2 | head -n 1)" renewed

# So do a time to come, a change in between, and a second later.
expect_ok touch -d '+1 hour' "$MNT/custom/y@me"
expect_equal "$(events y)" 'acquired renewed'
expect_hour "$MNT/custom/y"
expect_ok "$SYS" open "$MNT/custom/z@me" wronly,creat + write ttl=10m + futimens now now
expect_equal "$(events z)" 'acquired changed renewed'
# Takes a lock, and so much later sets its times, in one process.
late() {
	"$SYS" open "$MNT/custom/$1@me" wronly,creat + mark "$T/taken$1" + await "$T/later$1" + futimens now now &
	wait_until '[ -e "$T/taken'"$1"'" ]'
	sleep "$2"
	: >"$T/later$1"
	wait "$!" || fail "cannot be renewed $2 s later"
	expect_equal "$(events "$1")" 'acquired renewed'
}
late second 1
# Of a short lease, a hundredth is less.
echo 20s >"$MNT/config/default_ttl"
late hundredth 0.3

# It never lies: whose lock has ended is refused.
"$SYS" open "$MNT/custom/over@me" wronly,creat + mark "$T/over" + await "$T/ended" + futimens now now 2>"$T/err" &
over=$!
wait_until '[ -e "$T/over" ]'
expect_ok rm "$MNT/custom/over@me"
: >"$T/ended"
! wait "$over" || fail "a lock that has ended was touched"
