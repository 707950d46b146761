#!/bin/bash
# root
# make unmount of a tree that somebody is in says who, and how to go on. The directory that a crash leaves can be removed once it is
# not immutable any more.
. "$(dirname "$0")/lib.sh"
sources=$(realpath "$(dirname "$0")/../..")
unmount() {
	env -u MAKEFLAGS -u MAKELEVEL make -s -C "$sources" BUILD="$ATLOCKFS_BUILD" MNT="$MNT" STORE="$STORE" unmount
}

mount_fs
(cd "$MNT/custom" && exec sleep 1000) &
inside=$!
wait_until "[ \"\$(readlink /proc/$inside/cwd)\" = '$MNT/custom' ] && [ \"\$(cat /proc/$inside/comm)\" = sleep ]"
expect_status 2 unmount
grep -qF "$MNT" "$T/err" || fail "$(cat "$T/err")"
grep -qE "^ *$inside root +sleep 1000" "$T/err" || fail "it does not name $inside: $(cat "$T/err")"
grep -qF "kill \$(cat $STORE/owner.pid)" "$T/err" || fail "$(cat "$T/err")"
is_mounted || fail 'unmounted all the same'
kill "$inside"
wait "$inside" 2>/dev/null || true
expect_ok unmount
daemon_wait
! is_mounted || fail 'still mounted'

# Not mounted is not busy.
expect_status 2 unmount
! grep -q owner.pid "$T/err" || fail "$(cat "$T/err")"

# As the message says: the daemon's end is the mount's, whoever is in it.
mount_fs
(cd "$MNT/custom" && exec sleep 1000) &
inside=$!
wait_until "[ \"\$(readlink /proc/$inside/cwd)\" = '$MNT/custom' ]"
expect_ok kill "$(cat "$STORE/owner.pid")"
daemon_wait
! is_mounted || fail 'still mounted'
kill "$inside"
wait "$inside" 2>/dev/null || true

# After a crash.
mount_fs
crash_daemon
expect_ok unmount
flags=$(lsattr -d "$MNT" 2>/dev/null || true)
if [[ ${flags%% *} == *i* ]]; then
	expect_fail 'not permitted' rmdir "$MNT"
	expect_ok chattr -i "$MNT"
fi
expect_ok rmdir "$MNT"
mkdir "$MNT"
