#!/bin/bash
# root
# A descriptor that is open to be read can be opened again by its user, any number of times, one after the other and at once: `cat
# /dev/stdin` twice in a script whose input is a lock.
. tests/mount/lib.sh
mount_fs -o allow_other
expect_ok as_user atlt1 touch "$MNT/custom/l@x"
for file in custom/l locks.jsonl health README; do
	for user in root atlt1; do
		as_user $user bash -c 'exec 3<"$1"; for i in 1 2 3; do cat /proc/self/fd/3 || exit; done; exec 4</dev/fd/3; cat /dev/fd/3 /dev/fd/4' \
			bash "$MNT/$file" >"$T/got" || fail "$file, $user"
		expect_equal "$(($(wc -l <"$T/got") % 5))" 0 "$file, $user: lines of five times the text"
		[ -s "$T/got" ] || fail "$file, $user: empty"
	done
done
