#!/bin/bash
# Options: files of config/, and the configuration file.
. tests/mount/lib.sh

# config/: one file an option. Read by all, changed by administrators, checked by the table, kept, in force at once.
files_of_config() {
	mount_fs -o max_queue=7
	c=$MNT/config

	# Every option of --help is there; sizes are those of what is read.
	for option in $("$ATLOCKFS_BUILD/atlockfs" --help | sed -n 's/^  \([a-z_]*\)=.*/\1/p' | grep -vxE 'max_threads|run_as|config'); do
		[ -f "$c/$option" ] || fail "$option is missing"
	done
	[ -f "$c/default_ttl" ] || fail "nothing is there"
	for option in $(ls "$c"); do
		as_user atlt1 cat "$c/$option" >"$T/value"
		expect_equal "$(stat -c %s "$c/$option")" "$(stat -c %s "$T/value")" "$option"
		expect_equal "$(wc -l <"$T/value")" 1 "$option"
	done
	expect_equal "$(cat "$c/max_queue")" 7
	expect_equal "$(cat "$c/default_ttl")" 30m
	expect_equal "$(cat "$c/store")" "$STORE"

	# In force at once.
	echo 5m >"$c/default_ttl"
	expect_equal "$(cat "$c/default_ttl")" 5m
	expect_equal "$(stat -c %s "$c/default_ttl")" 3
	touch "$MNT/custom/a@x"
	expect_equal "$(field "$MNT/custom/a" ttl)" 5m
	printf 6m >>"$c/default_ttl"
	expect_equal "$(cat "$c/default_ttl")" 6m
	touch "$MNT/custom/b@x"
	expect_equal "$(field "$MNT/custom/b" ttl)" 6m
	expect_equal "$(field "$MNT/custom/a" ttl)" 5m

	# Truncating alone changes nothing.
	: >"$c/default_ttl"
	expect_equal "$(cat "$c/default_ttl")" 6m

	# A bad value changes nothing, and why says what would do.
	bad() {
		expect_fail 'Invalid argument' bash -c 'env printf "%b" "$1" >"$2"' - "$2" "$c/$1"
		grep -qF -- "$3" "$MNT/why" || fail "$1=$2: $(cat "$MNT/why")"
	}
	bad default_ttl soon 'durations are written'
	bad default_ttl 90 'needs a unit'
	bad default_ttl 3h 'longer than max_ttl'
	bad deadlock_policy coin 'choose one of'
	bad max_queue '\n' number
	bad max_queue '7\n8\n' 'one line'
	expect_equal "$(cat "$c/default_ttl" "$c/max_queue" "$c/deadlock_policy")" "$(printf '6m\n7\nlifo')"

	# A command may contain a password: administrators read it, in the file and in events, by a descriptor from before too.
	mkfifo -m 666 "$T/opened" "$T/go"
	as_user atlt1 bash -c 'exec 5<"$1"; echo >"$2"; read -r <"$3"; ! cat <&5' - "$c/on_event" "$T/opened" "$T/go" >"$T/read" 2>&1 &
	reader=$!
	read -r <"$T/opened"
	echo 'cat >/dev/null # PASSWORD' >"$c/on_event"
	echo >"$T/go"
	wait "$reader" || fail "an old descriptor reads $(cat "$T/read")"
	grep -q 'Permission denied' "$T/read" || fail "$(cat "$T/read")"
	expect_fail 'Permission denied' as_user atlt1 cat "$c/on_event"
	as_user atlt1 cat "$MNT/why" | grep 'administrators may read it' >/dev/null || fail "no reason"
	expect_fail 'Permission denied' as_user atlt1 python3 -c 'import os,sys; os.open(sys.argv[1], os.O_RDWR)' "$c/on_event"
	expect_equal "$(cat "$c/on_event")" 'cat >/dev/null # PASSWORD'
	as_user atlt1 grep -q '"config/on_event"' "$MNT"/events/live "$MNT"/events/*.jsonl
	! as_user atlt1 grep -r PASSWORD "$MNT/events" || fail "events tell it"
	echo >"$c/on_event"
	expect_equal "$(as_user atlt1 cat "$c/on_event")" ''

	# Not by others, whatever they do to the file.
	expect_fail 'Operation not permitted' as_user atlt1 bash -c 'echo 7m >"$1"' - "$c/default_ttl"
	as_user atlt1 cat "$MNT/why" | grep 'PERMISSION_DENIED: options are changed by administrators' >/dev/null || fail "no reason"
	expect_fail 'Operation not permitted' as_user atlt1 bash -c 'echo 7m >>"$1"' - "$c/default_ttl"
	expect_fail 'Operation not permitted' as_user atlt1 truncate -s 0 "$c/default_ttl"
	expect_fail 'Permission denied' as_user atlt1 rm -f "$c/default_ttl"
	expect_fail 'Permission denied' as_user atlt1 touch "$c/mine"
	expect_equal "$(cat "$c/default_ttl")" 6m

	# There is nothing to make, remove or rename.
	expect_fail 'Operation not permitted' rm "$c/default_ttl"
	expect_fail 'Operation not permitted' bash -c '>"$1"' - "$c/defaultttl"
	grep -q 'did you mean default_ttl' "$MNT/why" || fail "$(cat "$MNT/why")"
	expect_fail 'Operation not permitted' mkdir "$c/dir"
	expect_fail 'Operation not permitted' mv "$c/default_ttl" "$c/max_ttl"
	expect_fail 'Operation not permitted' chmod 600 "$c/default_ttl"

	# What only a mount can set says so.
	for option in sync store; do
		expect_fail 'Operation not permitted' bash -c 'echo off >"$1"' - "$c/$option"
		grep -q "$option cannot change while mounted" "$MNT/why" || fail "$(cat "$MNT/why")"
	done

	# Kept over a remount; the command line wins there, and what is written then wins over it until the next.
	echo 8 >"$c/max_queue"
	remount_fs -o max_ttl=1h
	expect_equal "$(cat "$c/default_ttl" "$c/max_queue" "$c/max_ttl")" "$(printf '6m\n8\n1h')"
	remount_fs -o default_ttl=2m
	expect_equal "$(cat "$c/default_ttl" "$c/max_queue" "$c/max_ttl")" "$(printf '2m\n8\n2h')"
	echo 3m >"$c/default_ttl"
	kill_daemon
	mount_fs
	expect_equal "$(cat "$c/default_ttl")" 3m

	# What is kept and what is given must go together.
	unmount_fs
	expect_fail 'longer than max_ttl' "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" -o max_ttl=1m "$MNT"
	! is_mounted || fail "mounted"
	mount_fs -o max_ttl=1m,default_ttl=1m
}

# A configuration file gives options by name, the command line wins over it, and what is wrong in it is named by its line.
configuration_file() {
	conf=$T/atlockfs.conf
	printf '%s\n' '# what this host has' '' '  default_ttl = 5m' 'max_ttl=50m' "store = $T/configured" 'disable_apply' 'max_threads = 3' \
		'admin_group =' >"$conf"
	real=$STORE

	# mount_fs gives --store, which wins; so does -o, whatever its place.
	mount_fs -o max_ttl=40m --config "$conf"
	expect_equal "$(cat "$MNT/config/default_ttl" "$MNT/config/max_ttl" "$MNT/config/disable_apply")" $'5m\n40m\non'
	expect_equal "$(cat "$MNT/config/store")" "$real"
	unmount_fs
	[ ! -e "$T/configured" ] || fail "the file's store was made as well"

	# Also as a mount option, for fstab; and the store as it says.
	expect_ok "$ATLOCKFS_BUILD/atlockfs" -o max_queue=9,config="$conf" "$MNT"
	expect_equal "$(cat "$MNT/config/store" "$MNT/config/max_ttl" "$MNT/config/max_queue")" "$T/configured"$'\n50m\n9'
	daemon=$(cat "$T/configured/owner.pid")
	expect_ok fusermount3 -u "$MNT"
	wait_until "is_gone $daemon"

	refuses() {
		local text=$1
		shift
		printf '%s\n' 'max_ttl = 1h' "$@" >"$conf"
		expect_fail "$text" "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" --config "$conf" "$MNT"
		! is_mounted || fail "mounted with $*"
	}

	refuses "$conf:2: default_ttl: default_ttl=soon: durations are written" 'default_ttl = soon'
	refuses "$conf:4: there is no option \"defaultttl\": did you mean default_ttl?" '' '# x' 'defaultttl = 5m'
	refuses "$conf:2: there is no option \"fsname\"" 'fsname = x'
	refuses "$conf:2: default_ttl: default_ttl needs a value" 'default_ttl'
	refuses "$conf:2: write \"option = value\"" 'default_ttl 5m'
	refuses "$conf:2: write \"option = value\"" '= 5m'
	refuses "$conf:2: run_as: name a user" 'run_as = nobody-of-that-name'
	refuses "$conf:2: auto_unmount: would show an empty directory" 'auto_unmount'
	refuses "$conf:2: config: a configuration file cannot name another" "config = $conf"
	refuses "$conf:2: relative: name the store's directory from / on" 'store = relative'
	refuses "$conf:2: max_threads: a number from 1 to 1024" 'max_threads = 0'
	printf 'max_ttl = 1h\na\0b\n' >"$conf"
	expect_fail "$conf:2: has a NUL byte" "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" --config "$conf" "$MNT"
	expect_fail "$T/none.conf: No such file" "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" --config "$T/none.conf" "$MNT"
	expect_fail "$T: Is a directory" "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" --config "$T" "$MNT"

	# Two that do not go together are refused as on the command line; help is there whatever the file says.
	refuses 'default_ttl is longer than max_ttl' 'default_ttl = 2h'
	expect_ok "$ATLOCKFS_BUILD/atlockfs" --config "$conf" --help >"$T/help"
	grep -q -- --config "$T/help" || fail "help does not speak of --config"
}

behaviours files_of_config configuration_file
