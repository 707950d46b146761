#!/bin/bash
# Once close(2) of the last descriptor has returned, or the holder was waited for, the lock is neither listed nor found.
. "$(dirname "$0")/lib.sh"
mount_fs

cat >"$T/close.py" <<'END'
import fcntl, os, sys
where, rounds = sys.argv[1], int(sys.argv[2])
lock, seen = where + "/x", []
for i in range(rounds):
    fd = os.open(lock, os.O_RDONLY | os.O_CREAT, 0o644)
    fcntl.flock(fd, fcntl.LOCK_EX)
    if i % 3 == 2:
        child = os.fork()
        if child == 0:
            os._exit(0)  # the second last to close it
        os.waitpid(child, 0)
    os.close(fd)
    if os.listdir(where):
        seen.append("listed")
    if os.path.lexists(lock):
        seen.append("found")
sys.exit("after %d closes: %s" % (rounds, seen) if seen else 0)
END
mkdir "$MNT/custom/d"
expect_ok python3 "$T/close.py" "$MNT/custom/d" "${ROUNDS:-150}"
expect_ok python3 "$T/close.py" "$MNT/global" "${ROUNDS:-150}"

# The holder is gone before its child, which closes the file last.
for _ in $(seq 20); do
	expect_ok python3 -c 'import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_CREAT, 0o644)
fcntl.flock(fd, fcntl.LOCK_EX)
gone, end = os.pipe()
if os.fork() == 0:
    os.close(end)
    os.read(gone, 1)  # until the holder is gone
    os.close(fd)
    os._exit(1 if os.listdir(sys.argv[2]) else 0)
' "$MNT/custom/d/x" "$MNT/custom/d"
done
wait_until '[ -z "$(ls "$MNT/custom/d")" ]'
