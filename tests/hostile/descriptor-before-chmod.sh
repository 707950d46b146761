#!/bin/bash
# root
# A descriptor that was opened before a directory of custom/ was closed shows nothing of what comes later: neither who holds a lock
# by fstat(2), nor names of locks and waiters by getdents(2). The owner's own descriptors go on.
. "$(dirname "$0")/../mount/lib.sh"
mount_fs -o allow_other
as_user atlt1 mkdir -m 777 "$MNT/custom/team" "$MNT/custom/team/inner"
as_user atlt1 touch "$MNT/custom/team/l@before" "$MNT/custom/team/inner/l@before"
as_user atlt1 touch "$MNT/queue/custom/team/l/normal@waits"
cat >"$T/peer" <<'PY'
import os, pwd, sys
user, mnt = pwd.getpwnam(sys.argv[1]), sys.argv[2]
os.setgroups([])
os.setgid(user.pw_gid)
os.setuid(user.pw_uid)
dirs = ['custom/team', 'custom/team/inner', 'queue/custom/team', 'queue/custom/team/l']
files = ['custom/team/l', 'custom/team/inner/l', 'queue/custom/team/l/' + os.listdir(f'{mnt}/queue/custom/team/l')[0]]
held = {d: os.open(f'{mnt}/{d}', os.O_RDONLY | os.O_DIRECTORY) for d in dirs}
held.update({f: os.open(f'{mnt}/{f}', os.O_RDONLY) for f in files})
def look(fd, name):
    try:
        if name in dirs:
            return ' '.join(sorted(n.split('@')[-1] for n in os.listdir(fd)))
        os.fstat(fd)
        return 'seen'
    except PermissionError:
        return 'EACCES'
print('open', flush=True)
for line in sys.stdin:
    for name, fd in held.items():
        print('ticket' if '@' in name else name, look(fd, name))
    print('.', flush=True)
PY
start() {
	coproc PEER { exec python3 "$T/peer" "$1" "$MNT"; }
	to=${PEER[1]} from=${PEER[0]} peer=$PEER_PID
	read -r line <&"$from"
	expect_equal "$line" open
}
look() {
	local line
	echo look >&"$to"
	while read -r -t $((20 * TIME_FACTOR)) line <&"$from" && [ "$line" != . ]; do echo "$line"; done >"$T/seen"
}

start atlt2
look
expect_equal "$(cat "$T/seen")" 'custom/team inner l
custom/team/inner l
queue/custom/team l
queue/custom/team/l waits
custom/team/l seen
custom/team/inner/l seen
ticket seen'
as_user atlt1 chmod 700 "$MNT/custom/team"
as_user atlt1 touch "$MNT/custom/team/later@x"
as_user atlt1 touch "$MNT/queue/custom/team/later/high@lurks"
# The kernel may know for a second what everybody could see before.
wait_until 'look && ! grep -q " seen" "$T/seen"'
expect_equal "$(cat "$T/seen")" 'custom/team EACCES
custom/team/inner EACCES
queue/custom/team EACCES
queue/custom/team/l EACCES
custom/team/l EACCES
custom/team/inner/l EACCES
ticket EACCES'
# Nor later, when the kernel has forgotten the way. There is nothing to wait for but time.
sleep 3.5
look
! grep -v 'EACCES$' "$T/seen" || fail 'seen after some seconds'
eval "exec $to>&-"
expect_ok wait "$peer"

# Its owner goes on.
start atlt1
look
expect_equal "$(cat "$T/seen")" 'custom/team inner l later
custom/team/inner l
queue/custom/team l later
queue/custom/team/l waits
custom/team/l seen
custom/team/inner/l seen
ticket seen'
eval "exec $to>&-"
expect_ok wait "$peer"
