#!/bin/bash
# root
# A store that another user prepared is not opened by root, neither to serve it nor to read it: its on_event would run as root, and
# its symbolic links lead where that user may not write.
. tests/mount/lib.sh

# The attacker's: a store with a command for on_event in it. He writes one that says so; here root does that for him.
own=$STORE STORE=$T/his
mount_fs
echo "touch $T/ran" >"$MNT/config/on_event"
expect_ok touch "$MNT/custom/a@x"
wait_until '[ -e "$T/ran" ]'
unmount_fs
STORE=$own
chown -R atlt1:atlt1 "$T/his"
rm "$T/ran"

# Everything that opens a store refuses this one, with these words.
refused() {
	local text=$1 store=$2
	expect_fail "$text" "$ATLOCKFS_BUILD/atlockfs" -f --store "$store" "$MNT"
	! is_mounted || fail "mounted $store"
	expect_fail "$text" "$ATLOCK" ls --store "$store"
	expect_fail "$text" "$ATLOCK" audit verify --store "$store"
	expect_fail "$text" "$ATLOCK" fsck "$store"
	expect_fail "$text" "$ATLOCK" fsck --repair "$store"
	expect_fail "$text" "$ATLOCK" backup --store "$store" "$T/copy"
	[ ! -e "$T/copy" ] || fail "made a copy"
}
refused "belongs to user $(id -u atlt1)" "$T/his"
expect_fail 'belongs to another user' "$ATLOCKFS_BUILD/atlockfs" -f --store "$T/his" -o run_as=atlt2 "$MNT"
expect_equal "$(stat -c %U "$T/his" "$T/his/data.mdb" | sort -u)" atlt1
[ ! -e "$T/ran" ] || fail "ran a command of the store"

# Nor a store of root's that is open to others, or with a file of another user's in it.
mount_fs
expect_ok touch "$MNT/custom/a@x"
unmount_fs
for mode in 770 707; do
	chmod $mode "$STORE"
	refused 'can be written by others' "$STORE"
done
chmod 700 "$STORE"
for file in data.mdb commit.log owner.pid lock.mdb; do
	chmod 620 "$STORE/$file"
	refused "$file can be written by others" "$STORE"
	chmod 600 "$STORE/$file"
	chown atlt1 "$STORE/$file"
	refused "$file belongs to user" "$STORE"
	chown root "$STORE/$file"
done

# What a name in the store leads to elsewhere stays as it is.
echo precious >"$T/precious"
for file in data.mdb commit.log owner.pid lock.mdb; do
	mv "$STORE/$file" "$T/kept"
	ln -s "$T/precious" "$STORE/$file"
	refused "$file is not a file but a symbolic link" "$STORE"
	rm "$STORE/$file"
	mkfifo "$STORE/$file"
	refused "$file is not a file" "$STORE"
	rm "$STORE/$file"
	mv "$T/kept" "$STORE/$file"
done
for file in data.mdb.new commit.log.new; do ln -s "$T/precious" "$STORE/$file"; done
rm "$STORE/commit.log"
expect_equal "$(cat "$T/precious")" precious
mount_fs
expect_equal "$(cat "$T/precious")" precious
expect_equal "$(field "$MNT/custom/a" who)" x

# Links among the tools' other files are the caller's own business; the store's directory may be a link to where it is.
unmount_fs
ln -s "$STORE" "$T/way"
STORE=$T/way
mount_fs
