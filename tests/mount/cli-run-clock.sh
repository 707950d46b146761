#!/bin/bash
# timeout: 60
# How long ago a lease was renewed is told by the clock, not by how often atlock run looked: while no daemon answers, the command
# goes on for as long as the lease, and no longer, also if the machine slept meanwhile.
. "$(dirname "$0")/lib.sh"
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
