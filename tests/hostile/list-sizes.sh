#!/bin/bash
# Asking for the size of locks.jsonl again and again by its name does not have the whole list counted each time, even if it changes all
# the time; and what is told is right soon after the last change.
. "$(dirname "$0")/../mount/lib.sh"
mount_fs -o sync=off

seq "${ROUNDS:-4000}" | sed "s|.*|$MNT/repos/acme/infra/-/d/-/workspace-&@many|" | xargs touch
# The daemon's processor time so far, in hundredths of a second.
used() { awk '{ print $14 + $15 }' "/proc/$DAEMON/stat"; }
cat >"$T/ask" <<'PY'
import os, sys
mnt, how, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
for i in range(times):
    os.close(os.open(f'{mnt}/global/changes@x', os.O_WRONLY | os.O_CREAT))
    if how == 'name':
        os.stat(f'{mnt}/locks.jsonl')
    else:
        fd = os.open(f'{mnt}/locks.jsonl', os.O_RDONLY)
        os.fstat(fd)
        os.close(fd)
    os.unlink(f'{mnt}/global/changes@x')
PY
before=$(used)
python3 "$T/ask" "$MNT" open 30
counted=$(($(used) - before))
before=$(used)
python3 "$T/ask" "$MNT" name 300
asked=$(($(used) - before))
echo "30 counts: $counted, 300 times by name: $asked"
[ "$asked" -lt $((5 * counted)) ] || fail "300 sizes took $asked, 30 counts $counted"

# Many threads that ask at the same moment, on a descriptor that opens nothing, have it counted once, not each.
cat >"$T/together" <<'PY'
import os, sys, threading
fd = os.open(sys.argv[1] + '/locks.jsonl', os.O_PATH)
threads = [threading.Thread(target=os.fstat, args=(fd,)) for i in range(200)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
PY
wait_until '[ "$(stat -c %s "$MNT/locks.jsonl")" = "$(wc -c <"$MNT/locks.jsonl")" ]'
expect_ok touch "$MNT/global/changed@x"
before=$(used)
python3 "$T/together" "$MNT"
together=$(($(used) - before))
echo "200 threads at once: $together"
[ "$together" -lt $((2 * counted + 20)) ] || fail "200 threads took $together, 30 counts $counted"
expect_ok rm "$MNT/global/changed@x"
wait_until '[ "$(stat -c %s "$MNT/locks.jsonl")" = "$(wc -c <"$MNT/locks.jsonl")" ]'
expect_ok touch "$MNT/global/one-more@x"
wait_until '[ "$(stat -c %s "$MNT/locks.jsonl")" = "$(cat "$MNT/locks.jsonl" | wc -c)" ]'

# Open files have it counted each time, but for one of the user's requests at a time: other users have processors left. A list must be
# long to be counted.
seq 1500 | sed "s|.*|$MNT/repos/acme/infra/-/d/-/workspace-&@many|" | xargs touch
cat >"$T/open" <<'PY'
import glob, os, sys, threading
mnt, daemon = sys.argv[1:]
def ask():
    for i in range(2):
        fd = os.open(f'{mnt}/locks.jsonl', os.O_RDONLY)
        os.fstat(fd)
        os.close(fd)
def runs(task):
    try:
        return open(task).read().rsplit(')', 1)[1].split()[0] == 'R'
    except OSError:
        return False
threads = [threading.Thread(target=ask) for i in range(12)]
for thread in threads:
    thread.start()
seen = []
while any(thread.is_alive() for thread in threads):
    seen.append(sum(runs(task) for task in glob.glob(f'/proc/{daemon}/task/*/stat')))
seen.sort()
print(seen[len(seen) // 2])
PY
running=$(python3 "$T/open" "$MNT" "$DAEMON")
echo "threads that run while 12 ask: $running"
[ "$running" -le 3 ] || fail "$running threads count at a time"
