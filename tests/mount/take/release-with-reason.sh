#!/bin/bash
# root
# Setting user.state to "released" gives a lock back as rm does, by the same rights, with a reason in the event log, and only if the lock has
# the token that was meant.
. tests/mount/lib.sh
mount_fs

lock=$MNT/custom/deploy
state() { # USER NAME VALUE
	as_user "$1" setfattr -n user.state -v "$3" "$2"
}
last() {
	jq -cs '[.[] | select(.type == "released" or .type == "forced")][-1] | [.type, .actor, .owner, .reason]' "$MNT/events/live"
}

# The holder; a waiter gets it in the same moment.
expect_ok as_user atlt1 touch "$lock@a"
expect_ok as_user atlt2 touch "$MNT/queue/custom/deploy/normal@b"
expect_ok state atlt1 "$lock@a" 'released reason=done with it, see https://me:secret@ci.example/7 = reason=x'
expect_equal "$(field "$lock" who)" b
expect_equal "$(last)" '["released","atlt1","atlt1","done with it, see https://ci.example/7 = reason=x"]'

# Not by another user, nor of another grant; not with what is no reason.
expect_fail 'No such file' state atlt1 "$lock@b" 'released reason=mine'
expect_fail 'Permission denied' state atlt1 "$lock" 'released reason=mine'
expect_ok as_user atlt2 touch "$lock@b"
expect_fail 'Stale file handle' state atlt2 "$lock@b" "released token=$(($(field "$lock" token) + 1)) reason=late"
expect_fail 'Operation not permitted' state atlt2 "$lock@b" acquired
for value in 'released ' 'released token=x' 'released token=0' "released reason=$(printf '%256s' x)" "released reason=a"$'\n'b; do
	expect_fail 'Invalid argument' state atlt2 "$lock@b" "$value"
done
expect_ok as_user atlt2 chmod 600 "$lock@b"
expect_fail 'Permission denied' state atlt1 "$lock" 'released'
expect_ok test -e "$lock@b"
expect_ok state atlt2 "$lock@b" "released token=$(field "$lock" token) reason=$(printf '%255s' x)"
[ ! -e "$lock" ] || fail 'it is still held'

# An administrator names the holder; by the plain name nothing happens.
expect_ok as_user atlt1 touch "$lock@a"
expect_fail 'Permission denied' setfattr -n user.state -v 'released reason=clean up' "$lock"
expect_ok setfattr -n user.state -v 'released reason=clean up' "$lock@a"
expect_equal "$(last)" '["forced","root","atlt1","clean up"]'

# Without a reason there is none, and the log is whole.
expect_ok as_user atlt1 touch "$lock@a"
expect_ok state atlt1 "$lock@a" released
expect_equal "$(last)" '["released","atlt1","atlt1",null]'
expect_ok as_user atlt1 mkdir -m 755 "$MNT/custom/closed"
expect_ok as_user atlt1 touch "$MNT/custom/closed/l@a"
expect_ok "$ATLOCK" -m "$MNT" audit verify
expect_equal "$(getfattr --absolute-names -n user.state --only-values "$MNT/custom/closed/l")" acquired
