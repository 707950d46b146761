#!/bin/bash
# shellcheck disable=SC2016 # scripts for other shells
# What looks like a circle and is none, because a lock of it can end before the wait does: nobody is refused.
. "$(dirname "$0")/lib.sh"
mount_fs
export MNT
a=$MNT/custom/a b=$MNT/custom/b
queued() { wait_until "[ \"\$(ls \"\$MNT/queue/custom/$1\" | wc -l)\" -eq ${2:-1} ]"; }

# Has b, and waits for a as soon as that is held.
other() {
	setsid -w flock "$b" flock "$a" true &
	other=$!
	queued a
}
all_end() {
	expect_ok wait "$other"
	expect_ok wait "$waiter"
	wait_until '[ ! -e "$a" ] && [ ! -e "$b" ]'
}

# A lock under a name is that of no process: any can remove it.
expect_ok touch "$a@x"
other
flock "$b" true &
waiter=$!
queued b
expect_ok rm "$a@x"
all_end

# The waiter has the lock's file open, but another open file than the one that has the lock.
coproc HOLDER { exec flock "$a" cat; }
wait_until '[ -e "$a" ]'
other
bash -c 'exec 9<"$1"; exec flock "$2" true' - "$a" "$b" &
waiter=$!
queued b
exec {HOLDER[1]}>&-
all_end

# Another thread of the waiting process can end what it has.
coproc THREADS { exec python3 -c 'import fcntl, os, sys, threading
a, b = (os.open(p, os.O_RDONLY | os.O_CREAT) for p in sys.argv[1:])
fcntl.flock(a, fcntl.LOCK_EX)
sys.stdin.readline()
threading.Thread(target=lambda: (sys.stdin.readline(), fcntl.flock(a, fcntl.LOCK_UN))).start()
fcntl.flock(b, fcntl.LOCK_EX)' "$a" "$b"; }
waiter=$THREADS_PID
wait_until '[ -e "$a" ]'
other
echo >&"${THREADS[1]}"
queued b
echo >&"${THREADS[1]}"
all_end
