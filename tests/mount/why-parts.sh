#!/bin/bash
# `why` has its parts as attributes, for programs: its code, what was refused, and a word for what is advised.
# root
. "$(dirname "$0")/lib.sh"
mount_fs -o allow_other

parts() {
	local key
	for key in code fact advice; do
		! getfattr --only-values -n "user.$key" "$MNT/why" 2>/dev/null || echo
	done
}
# In a session of its own the command is refused; what `why` has then.
told() {
	expect_equal "$(as_user atlt1 setsid -w bash -c "$(declare -f parts); $1 2>/dev/null && exit 1; parts" | sed 's/ is held.*//')" "$2" "$1"
}
export MNT
expect_equal "$(parts)" OK 'of nothing'

expect_ok as_user atlt1 touch "$MNT/global/x@build-17"
expect_ok as_user atlt1 setsid -w touch "$MNT/global/s"
told 'touch "$MNT/global/x"' $'LOCK_EXISTS\nglobal/x\nwait'
told 'rm "$MNT/global/x"' $'PERMISSION_DENIED\nglobal/x\nname'
told 'rm "$MNT/global/s"' $'PERMISSION_DENIED\nglobal/s\nsession'
told 'mkdir "$MNT/nothing"' "PERMISSION_DENIED
$(as_user atlt1 setsid -w sh -c 'mkdir "$MNT/nothing" 2>/dev/null; sed "s/^[A-Z_]*: //; s/ ([0-9]*s ago)$//" "$MNT/why"')
other"
getfattr -d "$MNT/why" 2>/dev/null | grep '^user.code=' >/dev/null || fail 'not listed'
expect_fail 'Operation not supported' setfattr -n user.code -v OK "$MNT/why"

# Two locks whose names begin with the same word are two locks.
expect_ok touch "$MNT/custom/a b@build-17" "$MNT/custom/a c@build-17"
python3 - "$MNT" <<'END'
import os, sys
mnt = sys.argv[1]
for call in (lambda: open(mnt + '/custom/a b', 'w'), lambda: os.utime(mnt + '/custom/a c')):
    try:
        call()
        sys.exit('not refused')
    except OSError:
        pass
why = open(mnt + '/why').read()
if 'custom/a c is held' not in why:
    sys.exit('about another lock: ' + why)
END
