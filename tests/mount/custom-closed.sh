#!/bin/bash
# root
# The kernel keeps the way through directories of custom/ that everybody may pass. When one is closed, nobody gets through it
# any more from that moment on, whatever the kernel still has; when one is removed, its name is free.
. "$(dirname "$0")/lib.sh"
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
