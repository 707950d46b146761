#!/bin/bash
# A daemon that is killed leaves no caller behind, whatever it was telling the kernel at that moment. The kernel carries out a
# notification about a name when the directory is unlocked, and a caller has it locked until its request is answered.
. tests/mount/lib.sh

notifier() {
	pgrep -P "$DAEMON"
}

# A sleep that no signal ends.
sleeps_hard() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null && [[ ${stat##*) } = D* ]]
}

# The lock of this name is known to the kernel, and ends by another one: that is a notification.
tell() {
	expect_ok touch "$MNT/custom/$1@n"
	expect_ok cat "$MNT/custom/$1" >/dev/null
	expect_ok rm "$MNT/custom/$1@n"
}

# The notifier waits for the directory, a caller has it locked, its request is not read yet, and two more want to lock it.
caller_has_the_directory() {
	local try notifier callers=() pid
	mount_fs
	notifier=$(notifier)
	for try in $(seq 20); do
		kill -STOP "$notifier"
		tell "told-$try"
		nap
		kill -STOP "$DAEMON"
		for name in a b c; do
			touch "$MNT/custom/$name-$try" 2>"$T/err-$name" &
			callers+=($!)
		done
		wait_until 'sleeps_hard '"${callers[-1]}"' || [ -n "$(cat /proc/'"${callers[-1]}"'/wchan)" ]'
		kill -CONT "$notifier"
		nap
		nap
		! sleeps_hard "$notifier" || break
		# It had been told before, or not yet.
		kill -CONT "$DAEMON"
		wait "${callers[@]}"
		callers=()
	done
	sleeps_hard "$notifier" || fail 'the notifier does not wait for the directory'
	crash_daemon
	for pid in "${callers[@]}"; do
		! wait "$pid" || fail 'a caller was told that all is well'
	done
	wait_until "is_gone $notifier"
	fusermount3 -uz "$MNT"
	mount_fs
	expect_ok touch "$MNT/custom/new"
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

behaviours caller_has_the_directory under_load notifier_killed
