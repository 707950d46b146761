#!/bin/bash
# root
# One daemon a store, whatever is removed from its directory, and under every name of its files.
. "$(dirname "$0")/lib.sh"
mount_fs
expect_ok touch "$MNT/custom/a@h"
mkdir "$T/m"
second() {
	expect_fail "$1" "$ATLOCKFS_BUILD/atlockfs" -f --store "$2" "$T/m"
}
second "is in use by process $DAEMON (atlockfs)" "$STORE"
rm "$STORE/owner.pid"
second 'is in use by another process' "$STORE"
rm "$STORE/lock.mdb"
second 'is in use by another process' "$STORE"

# The same file in another directory.
cp -al "$STORE" "$T/linked"
second 'is in use' "$T/linked"
rm -r "$T/linked"
expect_ok touch "$MNT/custom/b@h"
remount_fs

# Other programs' LMDB finds no way in, and leaves everything as it is; those that only read as this one does do.
expect_fail 'Invalid argument' mdb_stat -e "$STORE"
expect_fail 'Invalid argument' "${SYS%/*}/spoil" "$STORE" l
expect_ok "$ATLOCK" fsck "$STORE" >/dev/null
expect_equal "$("$ATLOCK" ls --store "$STORE" custom | grep -c '^custom/')" 2
expect_ok rm "$MNT/custom/a@h" "$MNT/custom/b@h"
expect_equal "$(head -n 1 "$MNT/health")" ok
unmount_fs
expect_ok mdb_stat -e "$STORE" >/dev/null

# Nor is a store taken that another program has open, such as an older version of this one.
mkfifo "$T/hold"
python3 -c 'import fcntl, sys
f = open(sys.argv[1], "r+b")
f.write(b"a table of readers")
f.flush()
fcntl.lockf(f, fcntl.LOCK_EX, 1)
print("locked", flush=True)
sys.stdin.read()' "$STORE/lock.mdb" <"$T/hold" >"$T/held" &
other=$!
exec 8>"$T/hold"
wait_until '[ -s "$T/held" ]'
second 'lock.mdb is locked' "$STORE"
expect_status 75 "$ATLOCK" ls --store "$STORE"
grep -q 'lock.mdb is locked' "$T/err" || fail "$(cat "$T/err")"
exec 8>&-
wait "$other"
mount_fs
