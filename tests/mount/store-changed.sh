#!/bin/bash
# root
# A store that is changed underneath is noticed: nothing is granted, shown or written any more, and health says why.
. "$(dirname "$0")/lib.sh"

# Mounts a store with a lock in it; after the change that follows, nothing works.
begin() {
	STORE=$T/$1
	mount_fs
	expect_ok touch "$MNT/custom/a@h"
}
expect_stopped() {
	expect_fail 'Input/output error' touch "$MNT/custom/b@h"
	expect_fail 'Input/output error' cat "$MNT/custom/a"
	expect_fail 'Input/output error' rm "$MNT/custom/a@h"
	grep -q '^failing store: its files were moved, removed' "$MNT/health" || fail "$(cat "$MNT/health")"
	unmount_fs
}

# A copy in the data file's place, which is what a restore by hand does.
begin copied
cp "$STORE/data.mdb" "$T/copy"
mv "$T/copy" "$STORE/data.mdb"
sum=$(cat "$STORE/data.mdb" | sha256sum)
expect_stopped
expect_equal "$(cat "$STORE/data.mdb" | sha256sum)" "$sum" "the copy was written to"

# Cut short. Reads of what is cut off would be the end of the daemon.
begin cut
truncate -s 0 "$STORE/commit.log"
expect_stopped

# The directory moved away: a second daemon has the one in its place, and grants what the first had.
begin moved
mv "$STORE" "$T/away"
cp -a "$T/away" "$STORE"
mkdir "$T/m"
"$ATLOCKFS_BUILD/atlockfs" -f --store "$STORE" "$T/m" >"$T/second" 2>&1 &
second=$!
wait_until '[ -e "$T/m/README" ]' 30
expect_ok rm -f "$T/m/custom/a@h"
expect_ok touch "$T/m/custom/c@other"
expect_stopped
expect_ok umount "$T/m"
wait "$second"

# A write by a program that asks for no lock.
begin written
remount_fs
rm "$STORE/lock.mdb"
expect_ok "${SYS%/*}/spoil" "$STORE" o >/dev/null
expect_stopped
