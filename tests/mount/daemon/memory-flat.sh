#!/bin/bash
# timeout: 240
# Locks that come and go leave nothing behind in the daemon: its memory levels off, and below what it may have at all.
. tests/mount/lib.sh

# After the first fifth there may come more threads, and what the store's log has not put in its place yet, but not much more.
level() {
	local before after
	churn "$1" "$2"
	before=$(anonymous)
	churn "$1" $(($2 * 4))
	after=$(anonymous)
	echo "$before kB, then $after kB"
	# A sanitizer keeps what was freed.
	[ "$TIME_FACTOR" -eq 1 ] || return 0
	[ $((after - before)) -le 2048 ] || fail "grew from $before to $after kB in $(($1 * $2 * 4)) cycles"
	[ "$after" -le 8192 ] || fail "$after kB"
}

rounds=${ROUNDS:-1000}
mount_fs
level 16 $((rounds / 10))
remount_fs -o sync=off
level 4 "$rounds"
