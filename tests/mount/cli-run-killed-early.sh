#!/bin/bash
# If atlock run is killed while the process for its command has just begun, the command does not run: the locks are gone.
. "$(dirname "$0")/lib.sh"
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
