#!/bin/bash
# A daemon that is killed leaves no caller behind, whatever it was telling the kernel at that moment. The kernel carries out a
# notification about a name when the directory is unlocked, and a caller has it locked until its request is answered.
. tests/mount/lib.sh
. tests/mount/directory-held.inc

caller_has_the_directory() {
	mount_fs
	hold_directory
	crash_daemon
	callers_refused
	fusermount3 -uz "$MNT"
	mount_fs
	expect_ok touch "$MNT/custom/new"
}

# As `pkill -9 atlockfs` and `pkill -9 -f atlockfs` would.
killed_by_name() {
	local pid named=()
	mount_fs
	hold_directory
	for pid in "$DAEMON" "$NOTIFIER"; do
		! grep -q atlockfs "/proc/$pid/comm" "/proc/$pid/cmdline" || named+=("$pid")
	done
	expect_equal "${named[0]}" "$DAEMON"
	kill -KILL "${named[@]}"
	wait "$DAEMON" 2>/dev/null || true
	DAEMON=
	callers_refused
	fusermount3 -uz "$MNT"
}

under_load() {
	local round name callers pid
	for round in 1 2 3; do
		mount_fs
		callers=()
		for name in a b c; do
			while : >"$MNT/custom/$name" && rm "$MNT/custom/$name"; do :; done 2>/dev/null &
			callers+=($!)
		done
		(while tell x && echo >>"$T/told-$round"; do :; done) 2>/dev/null &
		callers+=($!)
		wait_until '[ "$(cat "$T"/told-'"$round"' 2>/dev/null | wc -l)" -ge 10 ]' 60
		crash_daemon
		for pid in "${callers[@]}"; do wait "$pid" || true; done
		fusermount3 -uz "$MNT"
	done
}

# Without it the daemon tells the kernel itself: a name that the kernel has cached for a second is gone at once.
notifier_killed() {
	mount_fs
	kill -KILL "$(notifier)"
	in_session touch "$MNT/custom/x"
	tell y
	[ ! -e "$MNT/custom/y" ] || fail 'y is back'
	expect_ok rm "$MNT/custom/x@$(field "$MNT/custom/x" who)"
	wait_until '[ ! -e "$MNT/custom/x" ]'
}

behaviours caller_has_the_directory killed_by_name under_load notifier_killed
