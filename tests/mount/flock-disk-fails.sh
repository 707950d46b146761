#!/bin/bash
# root
# flock(1) on a store whose disk fails says "Input/output error", of a free lock and of a held one, and nothing is taken.
. "$(dirname "$0")/lib.sh"
mount_fs -o allow_other
expect_ok in_session touch "$MNT/custom/held@me"

# The tracer answers for the disk, in all threads.
strace -f -qq -o /dev/null -p "$DAEMON" -e trace=fdatasync -e inject=fdatasync:error=EIO &
tracer=$!
wait_until '! grep -qhx "TracerPid:.0" /proc/$DAEMON/task/*/status' 60
for lock in custom/free repos/acme/infra/-/vpc/-/prod custom/held; do
	expect_fail 'Input/output error' flock "$MNT/$lock" true
	grep -q '^BACKEND_ERROR: the store failed' "$MNT/why" || fail "$(cat "$MNT/why")"
	expect_fail 'Input/output error' as_user atlt1 flock "$MNT/$lock" true
done
expect_fail 'Input/output error' flock -n "$MNT/custom/free" true
expect_equal "$(ls "$MNT/custom")" held
! [ -e "$MNT/custom/free" ] || fail 'taken'

kill -INT "$tracer"
wait "$tracer" || true
expect_ok flock "$MNT/custom/free" true
