#!/bin/bash
# A configuration file gives options by name, the command line wins over it, and what is wrong in it is named by its line.
. "$(dirname "$0")/lib.sh"

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
