#!/bin/bash
# What a flock held is free after a crash of the daemon, since no open file is left to end it; the next ticket has it.
. "$(dirname "$0")/lib.sh"
mount_fs

"$SYS" open "$MNT/custom/x" rdonly,creat + flock ex + mark "$T/x" + pause &
"$SYS" open "$MNT/custom/y" rdonly,creat + flock ex + mark "$T/y" + pause &
wait_until '[ -e "$T/x" ] && [ -e "$T/y" ]'
expect_ok touch "$MNT/queue/custom/y/normal@next"
kill_daemon
mount_fs
[ ! -e "$MNT/custom/x" ] || fail "held by nobody: $(cat "$MNT/custom/x")"
expect_equal "$(field "$MNT/custom/y" who)" next
