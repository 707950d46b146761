#!/bin/bash
# long
# A flock ends with its open file, and the lock is free or the next one's at that moment.
# timeout: 240
. tests/mount/lib.sh

# A flock belongs to the open file: it ends with the last descriptor, through dup and fork, or with LOCK_UN on any of them.
last_descriptor() {
	mount_fs

	lock=$MNT/custom/x
	started() {
		rm -f "$T"/mark*
		"$SYS" "$@" &
		pid=$!
		wait_until '[ -e "$T/mark1" ]'
	}

	# A copy keeps it when the original is closed.
	started open "$lock" rdonly,creat + flock ex + dup + mark "$T/mark1" + await "$T/mark2" + close + mark "$T/mark3" + pause
	expect_errno EAGAIN open "$lock" rdonly,creat + flock ex,nb
	touch "$T/mark2"
	wait_until '[ -e "$T/mark3" ]'
	expect_errno EAGAIN open "$lock" rdonly,creat + flock ex,nb
	kill -TERM $pid
	wait $pid 2>/dev/null || true
	wait_until '[ ! -e "$lock" ]'

	# A child keeps it when its parent is gone.
	started open "$lock" rdonly,creat + flock ex + leave + mark "$T/mark1" + await "$T/mark2" + close + mark "$T/mark3" + \
		await "$T/end"
	expect_ok wait $pid
	expect_errno EAGAIN open "$lock" rdonly,creat + flock ex,nb
	touch "$T/mark2"
	wait_until '[ -e "$T/mark3" ]'
	wait_until '[ ! -e "$lock" ]'
	touch "$T/end"

	# LOCK_UN in the child is LOCK_UN for the parent as well, and the open file can take the lock again.
	started open "$lock" rdonly,creat + flock ex + fork + flock un + mark "$T/mark1" + await "$T/mark2" + flock ex + \
		mark "$T/mark3" + pause
	[ ! -e "$lock" ] || fail "held after LOCK_UN"
	expect_ok "$SYS" open "$lock" rdonly,creat + flock ex,nb
	touch "$T/mark2"
	wait_until '[ -e "$T/mark3" ]'
	expect_errno EAGAIN open "$lock" rdonly,creat + flock ex,nb
	child=$(pgrep -P $pid)
	kill -KILL "$child"
	wait $pid || true
	wait_until '[ ! -e "$lock" ]'

	# Taking it twice through one open file is taking it once; through two, they are strangers.
	expect_ok "$SYS" open "$lock" rdonly,creat + flock ex + flock ex + flock ex,nb + flock un + flock un
	[ ! -e "$lock" ] || fail "held after LOCK_UN"
	expect_errno EAGAIN open "$lock" rdonly,creat + flock ex + open "$lock" rdonly + flock ex,nb
	# Conversion to shared is refused and leaves what is held.
	started open "$lock" rdonly,creat + flock ex + mark "$T/mark1" + await "$T/mark2" + flock sh
	expect_errno EAGAIN open "$lock" rdonly,creat + flock ex,nb
	touch "$T/mark2"
	! wait $pid || fail "LOCK_SH was granted"
	wait_until '[ ! -e "$lock" ]'
}

# The lock is free when the process that held it by flock(2) has been waited for, or has closed the file: whoever comes next
# gets it.
free_at_exit() {
	mount_fs -o sync=off

	lock=$MNT/custom/x
	for _ in $(seq "${ROUNDS:-300}"); do
		expect_ok flock -n "$lock" true
		expect_ok flock -n "$lock" true
		expect_ok touch "$lock"
		expect_ok rm "$lock"
		expect_ok "$SYS" open "$lock" rdonly,creat + flock ex,nb + close
		expect_ok "$SYS" open "$lock" rdonly,creat + flock ex,nb + close + open "$lock" wronly,creat,excl + unlink "$lock"
		expect_ok bash -c 'set -C; : > "$1"' sh "$lock"
		expect_ok rm "$lock"
		expect_ok flock -n "$lock" true
		! [ -e "$lock" ] || fail "still there"
	done
}

# Once close(2) of the last descriptor has returned, or the holder was waited for, the lock is neither listed nor found.
closed_not_listed() {
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
}

# kill -9 of what holds a flock frees the lock, and the next in the queue has it.
holder_killed() {
	mount_fs

	lock=$MNT/custom/x
	"$SYS" open "$lock" rdonly,creat + flock ex + mark "$T/held" + pause &
	holder=$!
	wait_until '[ -e "$T/held" ]'
	cat "$MNT/wait/custom/x@next" >"$T/out" &
	waiter=$!
	wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
	kill -KILL $holder
	wait $holder 2>/dev/null || true
	expect_ok wait $waiter
	expect_equal "$(field "$T/out" who)" next

	# And from one flock to another.
	flock "$lock" true &
	waiter=$!
	wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
	expect_ok rm "$lock@next"
	expect_ok wait $waiter
	wait_until '[ ! -e "$lock" ]'

	# The lock can be taken away from it like any other; what it held then is another's.
	"$SYS" open "$lock" rdonly,creat + flock ex + mark "$T/again" + pause &
	holder=$!
	wait_until '[ -e "$T/again" ]'
	expect_fail 'Operation not permitted' rm "$lock"
	expect_ok rm "$lock@$(field "$lock" who)"
	expect_ok touch "$lock@next"
	kill -KILL $holder
	wait $holder 2>/dev/null || true
	expect_ok touch -c "$lock@next"
	expect_equal "$(field "$lock" who)" next
}

# A process that held thousands is killed. None of its locks is found or in the way from then on, also those whose turn to be
# released has not come.
thousands_at_once() {
	mount_fs

	mkdir "$MNT/custom/many"
	cat >"$T/many.py" <<'END'
import fcntl, os, resource, signal, sys
where, count = sys.argv[1], int(sys.argv[2])
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
count = min(count, most - 50)
ready, tell = os.pipe()
holder = os.fork()
if holder == 0:
    for i in range(count):
        fcntl.flock(os.open("%s/%d" % (where, i), os.O_RDONLY | os.O_CREAT, 0o644), fcntl.LOCK_EX)
    os.write(tell, b"x")
    signal.pause()
os.read(ready, 1)
os.kill(holder, signal.SIGKILL)
os.waitpid(holder, 0)
seen = [i for i in range(count - 1, 0, -count // 7) if os.path.lexists("%s/%d" % (where, i))]
for i in range(count - 2, 0, -count // 5):
    os.open("%s/%d" % (where, i), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    os.unlink("%s/%d" % (where, i))
sys.exit("found: %s" % seen if seen else 0)
END
	expect_ok python3 "$T/many.py" "$MNT/custom/many" 2000
	wait_until '[ -z "$(ls "$MNT/custom/many")" ]'
}

behaviours last_descriptor free_at_exit closed_not_listed holder_killed thousands_at_once
