#!/bin/bash
# The store is changed, removed or owned by another user behind the daemon's back.
. tests/mount/lib.sh

# A store that is changed underneath is noticed: nothing is granted, shown or written any more, and health says why.
changed() {
	needs_root
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
}

# When the store is removed underneath, nothing is granted or shown any more: it would be lost, and a second daemon could grant it
# too.
deleted() {
	mount_fs

	expect_ok touch "$MNT/global/a@h"
	rm -r "$STORE"
	expect_fail 'Input/output error' touch "$MNT/global/b@h"
	grep -q '^BACKEND_ERROR: .*Input/output error' "$MNT/why" || fail "$(cat "$MNT/why")"
	expect_fail 'Input/output error' cat "$MNT/global/b"
	expect_fail 'Input/output error' cat "$MNT/global/a@h"
	grep -q '^failing store: its files were moved, removed' "$MNT/health" || fail "$(cat "$MNT/health")"
}

# One daemon a store, whatever is removed from its directory, and under every name of its files.
owned() {
	needs_root
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
	cp -al "$STORE" "$STORE.linked"
	second 'is in use' "$STORE.linked"
	rm -r "$STORE.linked"
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
}

behaviours changed deleted owned
