#!/bin/bash
# Directories of custom/.
. tests/mount/lib.sh

# Directories of custom/ are ordinary and durable: mkdir, rmdir, listings, times, link counts, errors.
directories() {
	mount_fs

	cd "$MNT/custom"
	expect_fail 'No such file or directory' touch team/nightly
	expect_ok mkdir team team/db
	expect_fail 'File exists' mkdir team
	expect_ok mkdir -p team/db/primary/eu
	expect_equal "$(find . -type d | sort | tr '\n' ' ')" '. ./team ./team/db ./team/db/primary ./team/db/primary/eu '
	expect_ok touch team/nightly team/db/backup
	expect_equal "$(ls team)" $'db\nnightly'
	expect_equal "$(stat -c %h team) $(stat -c %h team/db/primary/eu)" '3 2' 'links count subdirectories'
	expect_fail 'File exists' mkdir team/nightly
	expect_fail 'Is a directory' bash -c ': > team/db'
	expect_errno ENOTDIR mkdir team/nightly/below
	expect_errno ENOTDIR rmdir team/nightly
	expect_errno EISDIR unlink team/db
	expect_errno ENOENT rmdir team/none
	expect_errno ENOENT mkdir none/below
	expect_fail 'Directory not empty' rmdir team
	expect_fail 'Directory not empty' rmdir team/db
	expect_errno EEXIST mkdir team/db

	# A lock in it keeps it, also one that was taken under another who.
	expect_ok rmdir team/db/primary/eu team/db/primary
	expect_ok rm team/db/backup
	expect_ok in_session touch team/db/backup@x
	expect_fail 'Directory not empty' rmdir team/db
	expect_ok rm team/db/backup@x
	expect_ok rmdir team/db

	# mtime moves when an entry comes or goes, and can be set; atime too.
	mtime() { stat -c %.9Y "$1"; }
	for change in 'touch team/a' 'rm team/a' 'mkdir team/d' 'rmdir team/d'; do
		was=$(mtime team)
		expect_ok $change
		[ "$(mtime team)" \> "$was" ] || fail "$change left mtime at $was"
	done
	was=$(mtime team)
	expect_ok touch team/nightly
	expect_equal "$(mtime team)" "$was" 'a renewal is no change of the directory'
	expect_ok touch -d '2020-02-02 02:02:02 UTC' team
	expect_equal "$(stat -c %Y team)" 1580608922
	expect_ok touch team
	[ "$(($(date +%s) - $(stat -c %Y team)))" -lt $((60 * TIME_FACTOR)) ] || fail "touch of a directory"

	# Everything is there after a remount, with the same inodes.
	expect_ok mkdir -m 1750 team/kept
	expect_ok touch -d '2021-01-01 UTC' team/kept
	show() { find "$MNT/custom" -printf '%P %i %m %u %g %n ' \( -type d -printf '%T@' -o -true \) -printf '\n' | sort; }
	before=$(show)
	cd /
	remount_fs
	expect_equal "$(show)" "$before" 'after a remount'
	expect_ok rmdir "$MNT/custom/team/kept"

	# A directory that is removed while it is somebody's working directory.
	cd "$MNT/custom"
	mkdir gone
	cd gone
	expect_ok rmdir "$MNT/custom/gone"
	expect_fail 'No such file or directory' touch x
	expect_fail '' mkdir y
	expect_ok mkdir "$MNT/custom/gone"
	expect_fail 'No such file or directory' touch x
	expect_equal "$(ls -A "$MNT/custom/gone")" '' 'the new one of that name'
	cd /
	expect_ok rm -r "$MNT/custom/team" "$MNT/custom/gone"
	expect_equal "$(ls -A "$MNT/custom")" ''
}

# Owner, group and mode of a directory in custom/ say who may use it: search, list, create, remove, the sticky bit, set-group-ID.
permissions() {
	needs_root
	mount_fs

	cd "$MNT/custom"
	one() { as_user atlt1 "$@"; }
	two() { as_user atlt2 "$@"; }
	expect_ok one mkdir team
	expect_equal "$(stat -c '%U:%G %a' team)" 'atlt1:atlt1 755'
	expect_ok one touch team/a@x
	expect_fail 'Permission denied' two touch team/b
	expect_fail 'Permission denied' two mkdir team/d
	expect_fail 'Permission denied' two rm -f team/a
	expect_fail 'Permission denied' two flock -n team/b true
	expect_fail 'Permission denied' two sh -c 'cat "$1" </dev/null' sh "$MNT/wait/custom/team/b"
	expect_ok two cat team/a >/dev/null
	expect_ok two ls team >/dev/null
	expect_fail 'Operation not permitted' two chmod 777 team
	expect_fail 'Operation not permitted' two chown atlt2 team
	expect_fail 'Operation not permitted' one chown atlt2 team
	expect_ok one chmod 700 team
	expect_fail 'Permission denied' two ls team
	expect_fail 'Permission denied' two cat team/a
	expect_errno ENOENT stat team/none
	expect_fail 'Permission denied' two stat team/none
	expect_ok one chmod 711 team
	expect_fail 'Permission denied' two ls team
	expect_ok two cat team/a >/dev/null
	expect_ok one chmod 500 team
	expect_fail 'Permission denied' one touch team/b
	expect_fail 'Permission denied' one rm -f team/a@x
	expect_ok touch team/root-may
	expect_ok rm team/root-may

	# Group.
	expect_ok chgrp atlt2 team
	expect_ok chmod 770 team
	expect_ok two touch team/b@y
	expect_equal "$(stat -c %U team/b)" atlt2
	expect_fail 'Permission denied' one rm -f team/b
	expect_ok chmod 2770 team
	expect_ok one mkdir team/sub
	expect_equal "$(stat -c '%G %a' team/sub)" 'atlt2 2755' 'a set-group-ID directory passes its group on'
	expect_fail '' one chgrp daemon team

	# A sticky bit leaves directories to their owners; about locks the daemon decides either way.
	expect_ok chmod 777 team
	expect_ok one mkdir team/mine
	expect_ok two rmdir team/mine
	expect_ok chmod 1777 team
	expect_ok one mkdir team/mine
	expect_fail 'Operation not permitted' two rmdir team/mine
	expect_fail 'Permission denied' two rm -f team/a
	expect_ok two rm team/b@y
	expect_ok one rmdir team/mine team/sub

	# chown by root moves it; a mode set with mkdir -m and an umask.
	expect_ok chown atlt2:daemon team
	expect_equal "$(stat -c %U:%G team)" atlt2:daemon
	expect_ok two chmod 755 team
	expect_fail 'Permission denied' one touch team/c
	expect_ok one sh -c 'umask 027; mkdir "$1"' sh plain
	expect_equal "$(stat -c %a plain)" 750
	expect_ok one mkdir -m 1733 drop
	expect_equal "$(stat -c %a drop)" 1733

	# The root of custom/ is root's to close.
	expect_ok chmod 755 "$MNT/custom"
	expect_fail 'Permission denied' one touch x
	expect_fail 'Permission denied' one mkdir x
	cd /
	remount_fs
	expect_equal "$(stat -c %a "$MNT/custom")" 755
	expect_fail 'Permission denied' one touch "$MNT/custom/x"
	expect_ok chmod 777 "$MNT/custom"
	expect_ok one touch "$MNT/custom/x"

	# What one user has just looked at is in the kernel's cache; another is refused all the same.
	cd "$MNT/custom"
	expect_ok one mkdir -m 700 private
	expect_ok one mkdir private/sub
	expect_ok one touch private/a@x private/sub/b@x
	expect_ok one stat private/a private/sub/b >/dev/null
	expect_fail 'Permission denied' two stat private/a
	expect_fail 'Permission denied' two cat private/sub/b
	expect_fail 'Permission denied' two env -C private true
	! two test -e private/a || fail 'it is seen'
	expect_ok one chmod 755 private
	expect_ok two stat private/a >/dev/null
	expect_ok one chmod 700 private
	expect_fail 'Permission denied' two cat private/a
	expect_fail 'Permission denied' two sh -c 'echo k=v >>private/a'
	expect_fail 'Permission denied' two touch -c private/sub/b
	expect_fail 'Permission denied' two ln private/a mine
	expect_ok one chmod 755 private
	expect_ok one chmod 600 private/a@x
	! two test -r private/a || fail 'it can be read'
	expect_ok one test -r private/a
	expect_fail 'Permission denied' two getfattr -n user.token private/a
	cd /
}

# The kernel keeps the way through directories of custom/ that everybody may pass. When one is closed, nobody gets through it
# any more from that moment on, whatever the kernel still has; when one is removed, its name is free.
closed() {
	needs_root
	mount_fs

	cd "$MNT/custom"
	one() { as_user atlt1 "$@"; }
	two() { as_user atlt2 "$@"; }
	expect_ok one mkdir -p way/in/deep
	expect_ok chmod 777 way/in way/in/deep
	expect_ok one touch way/in/deep/held@x
	expect_ok two mkdir way/in/deep/own

	# Each call is the first after a close, and the way was just walked.
	closed() {
		expect_ok one chmod 755 way
		two stat way/in/deep/own way/in/deep/held >/dev/null || fail 'cannot be seen while it is open'
		expect_ok one chmod 700 way
		expect_fail 'Permission denied' two "$@"
	}
	closed touch way/in/deep/x
	closed touch -c way/in/deep/held
	closed rm -f way/in/deep/held
	closed cat way/in/deep/held
	closed mkdir way/in/deep/d
	closed rmdir way/in/deep/own
	closed chmod 700 way/in/deep/own
	closed ls way/in/deep
	closed env -C way/in/deep true
	closed getfattr -n user.token way/in/deep/held
	closed flock -n way/in/deep/held true
	expect_equal "$(one ls way/in/deep)" $'held\nown'

	# The name of a lock that a session holds is kept, too: whoever only asks is told no more than whoever opens it.
	expect_ok one touch way/in/deep/session
	expect_ok one chmod 755 way
	expect_ok two stat way/in/deep/session >/dev/null
	expect_ok one chmod 700 way
	expect_fail EACCES two "$SYS" access way/in/deep/session r
	expect_ok one rm way/in/deep/session

	# So it is for whoever loses it as a member of the group, and when custom/ itself is closed.
	expect_ok chgrp atlt2 way
	expect_ok chmod 771 way
	expect_ok two stat way/in/deep/own >/dev/null
	expect_ok chmod 701 way
	expect_fail 'Permission denied' two ls way/in/deep
	expect_ok chmod 755 way
	expect_ok two ls way/in/deep >/dev/null
	expect_ok chmod 700 "$MNT/custom"
	expect_fail 'Permission denied' two ls "$MNT/custom/way/in/deep"
	expect_ok chmod 777 "$MNT/custom"

	# Its owner and root go on, and once it is open so does everybody.
	expect_ok one chmod 700 way
	expect_ok one touch way/in/deep/mine@x
	expect_ok touch way/in/deep/roots@x
	expect_ok one chmod 711 way
	expect_ok two touch way/in/deep/x
	expect_ok two rm way/in/deep/x

	# Owner, group and mode count from the moment they are set, each way, and for a directory of the same name made anew.
	for i in 1 2 3; do
		expect_ok mkdir -m 755 own
		expect_fail 'Permission denied' two touch own/a@x
		expect_ok chown atlt2 own
		expect_ok two touch own/a@x
		expect_fail 'Permission denied' one touch own/b@x
		expect_ok chown root:atlt1 own
		expect_ok chmod 775 own
		expect_ok one touch own/b@x
		expect_fail 'Permission denied' two rm -f own/a@x
		expect_ok chmod 1777 own
		expect_fail 'Permission denied' one rm -f own/a
		expect_ok two mkdir own/d
		expect_fail 'Operation not permitted' one rmdir own/d
		expect_ok chmod 777 own
		expect_ok one rmdir own/d
		expect_ok two rm own/a@x
		expect_ok one rm own/b@x
		expect_ok rmdir own
	done

	# A name that was a directory is free for a lock, and the other way round.
	for i in 1 2 3; do
		expect_ok mkdir name
		expect_ok touch name/a
		expect_fail 'Directory not empty' rmdir name
		expect_ok rm name/a
		expect_ok rmdir name
		[ ! -e name ] || fail 'it is still there'
		expect_fail 'No such file or directory' touch name/a
		expect_ok touch name
		expect_fail 'Not a directory' touch name/a
		expect_ok rm name
	done
	cd /
}

behaviours directories permissions closed
