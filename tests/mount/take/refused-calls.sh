#!/bin/bash
# Calls that a lock file system refuses, with an errno that says so.
. tests/mount/lib.sh

# What a lock file system has not: hard links, symbolic links, special files, renames. EPERM, and why says so; nothing changes.
links_and_special_files() {
	mount_fs

	expect_ok mkdir "$MNT/custom/dir"
	ws=$MNT/repos/a/b/-/c/-
	expect_ok touch "$ws/lock" "$MNT/custom/lock" "$MNT/global/lock"
	before=$(cat "$ws/lock" "$MNT/custom/lock" "$MNT/global/lock")
	refused() {
		expect_errno EPERM "$@"
		grep -q '^PERMISSION_DENIED: ' "$MNT/why" || fail "$* : $(cat "$MNT/why")"
	}
	for dir in "$ws" "$MNT/custom" "$MNT/global"; do
		refused link "$dir/lock" "$dir/other"
		refused symlink lock "$dir/other"
		refused mknod "$dir/other" fifo
		refused mknod "$dir/other" socket
		refused mknod "$dir/other" file
		refused rename "$dir/lock" "$dir/other"
		refused rename "$dir/lock" "$dir/other" noreplace
		refused rename "$dir/lock" "$MNT/custom/dir/lock"
		! [ -e "$dir/other" ] || fail "$dir/other is there"
	done
	refused rename "$MNT/custom/dir" "$MNT/custom/other"
	refused rename "$MNT/custom/lock" "$MNT/global/lock"
	refused rename "$MNT/custom/lock" "$MNT/global/lock" exchange
	expect_errno EXDEV rename "$MNT/custom/lock" "$T/lock"
	echo x >"$T/x"
	expect_errno EXDEV rename "$T/x" "$MNT/custom/x"
	expect_errno EXDEV link "$MNT/custom/lock" "$T/lock"
	expect_equal "$(cat "$ws/lock" "$MNT/custom/lock" "$MNT/global/lock")" "$before"
	[ -d "$MNT/custom/dir" ] || fail "the directory is gone"

	# Files without a name, room set aside, files in memory: none of that makes a lock.
	expect_fail '' "$SYS" open "$MNT/custom" wronly,tmpfile
	expect_fail '' "$SYS" open "$MNT/custom/lock" rdwr + fallocate 100
	expect_equal "$(ls "$MNT/custom")" $'dir\nlock'
	expect_equal "$(cat "$ws/lock" "$MNT/custom/lock" "$MNT/global/lock")" "$before"

	# The files of the root are the daemon's.
	expect_fail '' bash -c 'echo x > "$1"' sh "$MNT/health" # truncating it does nothing, for administrators
	[ "$(id -u)" -ne 0 ] || expect_fail '' as_user atlt1 bash -c ': > "$1"' sh "$MNT/health"
	for file in README health why locks.jsonl; do
		[ "$file" = health ] || expect_fail '' bash -c ': > "$1"' sh "$MNT/$file"
		expect_errno EPERM unlink "$MNT/$file"
		expect_fail '' chmod 666 "$MNT/$file"
		expect_fail '' touch "$MNT/$file"
	done
}

# fcntl, lockf and OFD locks and LOCK_SH are refused with a clear errno, never silently granted.
other_kinds_of_locks() {
	mount_fs

	lock=$MNT/custom/x
	refused() {
		local flags=$1 steps
		shift
		for steps; do
			# shellcheck disable=SC2086 # a step and its arguments
			expect_errno EOPNOTSUPP open "$lock" "$flags" + $steps
			grep -q '^INVALID_REQUEST: ' "$MNT/why" || fail "$steps: $(cat "$MNT/why")"
		done
	}
	refused rdonly,creat 'fcntl rd' 'fcntl rd setlkw' 'fcntl rd ofd' 'fcntl rd getlk' 'flock sh' 'flock sh,nb'
	! [ -e "$lock" ] || fail "taken"
	expect_ok touch "$lock"
	refused rdwr 'fcntl wr' 'fcntl rd' 'fcntl wr setlkw' 'fcntl wr ofd' 'fcntl wr getlk' 'flock sh' 'flock sh,nb'
	grep -q LOCK_EX "$MNT/why" || fail "$(cat "$MNT/why")"
	expect_fail 'not supported' flock -s "$lock" true
	expect_fail 'not supported' flock -s -n "$MNT/custom/free" true
	! [ -e "$MNT/custom/free" ] || fail "taken"
	for file in "$MNT/README" "$MNT/locks.jsonl" "$MNT/wait/custom/x"; do
		expect_fail '' flock -n "$file" true
	done
}

behaviours links_and_special_files other_kinds_of_locks
