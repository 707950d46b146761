#!/bin/bash
# root
# A disk that fails to write the store's main file: health tells, changes go on in the log and none is lost, and when the disk
# works again so does everything.
. "$(dirname "$0")/lib.sh"
mount_fs -o deadlock_interval=1s
expect_ok touch "$MNT/custom/before@me"

# The tracer answers for the disk, in all threads.
strace -f -qq -o /dev/null -p "$DAEMON" -e trace=fdatasync -P "$STORE/data.mdb" -e inject=fdatasync:error=EIO &
tracer=$!
wait_until '! grep -qhx "TracerPid:.0" /proc/$DAEMON/task/*/status' 60
expect_ok touch "$MNT/custom/during@me"
wait_until 'grep -q "^failing store: its main file cannot be written: Input/output error" "$MNT/health"' 60
expect_ok touch "$MNT/custom/later@me"
expect_ok rm "$MNT/custom/before@me"

kill -INT "$tracer"
wait "$tracer" || true
wait_until '[ "$(head -n 1 "$MNT/health")" = ok ]' 60
remount_fs
expect_ok test -e "$MNT/custom/during@me"
expect_ok test -e "$MNT/custom/later@me"
[ ! -e "$MNT/custom/before" ] || fail "came back"
