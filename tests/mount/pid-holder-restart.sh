#!/bin/bash
# Locks held as @pid: are kept over a restart and a crash of the daemon as long as the process lives, and end when it died
# meanwhile.
. "$(dirname "$0")/lib.sh"
mount_fs

mkfifo "$T/hold"
exec 9<>"$T/hold"
hold() {
	rm -f "$T/held"
	bash -c 'touch "$1@pid:$$" && : >"$2" && read -r _' - "$1" "$T/held" <&9 &
	wait_until '[ -e "$T/held" ]'
}

hold "$MNT/custom/a" && a=$!
hold "$MNT/custom/b" && b=$!
hold "$MNT/custom/c" && c=$!
expect_ok touch "$MNT/queue/custom/b/normal@next"
token=$(field "$MNT/custom/a" token)
unmount_fs
kill -KILL "$b"
wait "$b" 2>/dev/null || true
mount_fs
expect_equal "$(field "$MNT/custom/a" who)" "pid:$a"
expect_equal "$(field "$MNT/custom/a" token)" "$token"
expect_equal "$(field "$MNT/custom/b" who)" next
kill_daemon
kill -KILL "$c"
wait "$c" 2>/dev/null || true
mount_fs
expect_equal "$(field "$MNT/custom/a" who)" "pid:$a"
[ ! -e "$MNT/custom/c" ] || fail "held by a dead process: $(cat "$MNT/custom/c")"

# The new daemon watches it as well.
kill -KILL "$a"
wait_until '[ ! -e "$MNT/custom/a" ]' 2
