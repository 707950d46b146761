#!/bin/bash
# A holder by flock(2) who closes copies of its descriptor all the time, each perhaps the last, keeps no one waiting: neither
# those who look at the lock, nor those who use its directory meanwhile.
# root
. tests/mount/lib.sh
mount_fs -o allow_other

# In the background, $! being the process itself.
attack() {
	exec setpriv --reuid=atlt1 --regid=atlt1 --init-groups /usr/bin/python3 -c "$@"
}

mkdir -m 777 "$MNT/custom/d"

attack 'import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_CREAT, 0o644)
fcntl.flock(fd, fcntl.LOCK_EX)
open(sys.argv[2], "w").close()
while True:
    os.close(os.dup(fd))' "$MNT/custom/d/held" "$T/ready" &
holder=$!
wait_until '[ -e "$T/ready" ]'
# Nine of ten, so that a busy machine does not matter: waiting for a close that does not come takes 200 ms each.
as_user atlt2 /usr/bin/python3 -c 'import os, sys, time
where, took = sys.argv[1], {}
def each(what, call):
    times = took.setdefault(what, [])
    at = time.monotonic()
    call()
    times.append(time.monotonic() - at)
for i in range(40):
    each("stat", lambda: os.lstat(where + "/held"))
    each("list", lambda: os.listdir(where))
    each("take", lambda: os.close(os.open(where + "/mine", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)))
    each("give back", lambda: os.unlink(where + "/mine"))
for what, times in took.items():
    times.sort()
    if times[len(times) * 9 // 10] > 0.1:
        sys.exit("%s takes too long: %s" % (what, times))' "$MNT/custom/d" || fail 'others wait'
[ -e "$MNT/custom/d/held" ] || fail 'gone'
kill -KILL "$holder"
wait "$holder" 2>/dev/null || true
expect_equal "$(ls "$MNT/custom/d")" ''
