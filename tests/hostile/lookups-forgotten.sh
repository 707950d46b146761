#!/bin/bash
# long
# root
# Every directory of repos/ is there when it is named, so any user can make the kernel know as many as he likes. What the daemon
# keeps of them it gives back when the kernel forgets them.
. tests/mount/lib.sh
alone caches
mount_fs -o allow_other

before=$(anonymous)
seq "${ROUNDS:-100000}" | awk -v m="$MNT" '{ printf "%s/repos/org%d/name%d\n", m, $1 % 1000, $1 }' | as_user atlt1 xargs stat -c '' >/dev/null
known=$(anonymous)
forgotten() {
	echo 2 >/proc/sys/vm/drop_caches
	[ "$(anonymous)" -le $((before + 3072)) ]
}
# A sanitizer keeps what was freed.
[ "$TIME_FACTOR" -eq 1 ] || exit 0
wait_until forgotten 20 || fail "$before kB before, $known kB while they were known, $(anonymous) kB after"
echo "$before kB, then $known kB, then $(anonymous) kB"
