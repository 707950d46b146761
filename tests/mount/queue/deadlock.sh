#!/bin/bash
# Circles of waits are refused, and nothing else is taken for one.
# timeout: 240
# shellcheck disable=SC2016 # scripts for other shells
. tests/mount/lib.sh

# Two holders that wait for each other: the newest wait is refused with EDEADLK, and the other goes on.
two_holders() {
	mount_fs

	expect_ok touch "$MNT/custom/a@one" "$MNT/custom/b@two"
	cat "$MNT/wait/custom/b@one" >"$T/one" &
	one=$!
	wait_until '[ -n "$(ls "$MNT/queue/custom/b")" ]'
	expect_fail 'deadlock' cat "$MNT/wait/custom/a@two"
	grep -q DEADLOCK "$MNT/why" || fail "why says: $(cat "$MNT/why")"
	expect_fail 'deadlock' bash -c 'echo priority=critical >"$1"' - "$MNT/wait/custom/a@two"
	expect_fail 'deadlock' touch "$MNT/queue/custom/a/normal@two"
	expect_equal "$(ls "$MNT/queue/custom/a")" ''
	kill -0 $one || fail "the older wait was refused"
	expect_ok rm "$MNT/custom/b@two"
	expect_ok wait $one
	expect_equal "$(field "$T/one" who)" one
}

# Two sessions, each of which holds what the other waits for, known by nothing but their session: the later gets EDEADLK.
sessions() {
	mount_fs

	mkfifo "$T/held" "$T/go"
	# shellcheck disable=SC2016 # for the other shell
	setsid bash -c 'touch "$MNT/custom/a" && : >"$T/held" && : <"$T/go" && exec cat "$MNT/wait/custom/b"' >"$T/one" &
	one=$!
	: <"$T/held"
	expect_ok touch "$MNT/custom/b"
	: >"$T/go"
	wait_until '[ "$(field "$MNT/custom/b" waiters)" -eq 1 ]'
	expect_fail 'deadlock' cat "$MNT/wait/custom/a"
	expect_equal "$(field "$MNT/custom/a" waiters)" 0
	expect_ok rm "$MNT/custom/b"
	expect_ok wait $one
	expect_equal "$(field "$T/one" who)" "$(field "$MNT/custom/a" who)"
}

# Circles through what a waiting process has beside the name it waits under: open files, its own process, its session, the `atlock
# run` that started it. The newest wait is refused at once and `why` names the circle; the older goes on.
several_hats() {
	mount_fs
	export MNT T ATLOCK ATLOCKFS=$MNT
	a=$MNT/custom/a b=$MNT/custom/b
	mkfifo "$T/held" "$T/go"

	# The first party takes a, says so, waits for the word and then for b; it must get b in the end. Each is a session of its own.
	first() {
		setsid -w bash -c "$1" >"$T/first" 2>&1 &
		first=$!
		: <"$T/held"
	}
	# The second takes b, lets the first wait for it, and then waits for a: refused. It is given what it holds by its script's end.
	second() {
		expect_fail 'deadlock' timeout 60 setsid -w bash -c "$1"
		expect_ok wait "$first"
		wait_until '[ ! -e "$a" ] && [ ! -e "$b" ]'
	}
	rendezvous=': >"$T/held"; : <"$T/go"'
	met=': >"$T/go"; until [ -n "$(ls "$MNT/queue/custom/b")" ]; do sleep 0.02; done'

	# An open file that a child has inherited.
	first "flock \"$a\" bash -c '$rendezvous; flock $b true'"
	second "flock \"$b\" bash -c '$met; flock $a true || { s=\$?; cat \$MNT/why >\$T/why; echo deadlock >&2; exit \$s; }'"
	grep -Eq "^DEADLOCK: a deadlock: .* waits for custom/a, held by .*@flock:.*; .* waits for custom/b, held by .*@flock:" "$T/why" || fail "why: $(cat "$T/why")"

	# Its own process, and an open file.
	first "touch $a@pid:\$\$; $rendezvous; exec flock $b true"
	second "exec flock $b bash -c '$met; exec cat $MNT/wait/custom/a'"

	# Nested runs.
	first "exec \$ATLOCK run --lock custom/a -- bash -c '$rendezvous; exec \$ATLOCK run --wait 60s --lock custom/b -- true'"
	second "exec \$ATLOCK run --lock custom/b -- bash -c '$met; \$ATLOCK run --wait 60s --lock custom/a -- true'"

	# A session that waits under a name.
	first "touch $a; $rendezvous; cat $MNT/wait/custom/b@x && rm $a $b@x"
	second "touch $b; trap 'rm $b' EXIT; $met; cat $MNT/wait/custom/a@y"

	# What one process holds itself.
	expect_fail 'deadlock' timeout 60 "$ATLOCK" run --lock custom/q -- flock "$MNT/custom/q" true
	expect_fail 'deadlock' timeout 60 bash -c 'touch "$1@pid:$$"; exec cat "$MNT/wait/custom/q@x"' - "$MNT/custom/q"

	# A file that it has inherited, and one of its own, of the same lock.
	for nested in 'flock "$1" flock "$1" true' 'flock "$1" bash -c "flock $1 true; exit \$?"' \
		'flock "$1" bash -c "exec 7<$1; flock $1 true; exit \$?"' 'flock "$1" flock -w 50 "$1" flock "$1" true'; do
		expect_fail 'deadlock' timeout 60 bash -c "$nested" - "$MNT/custom/q"
		grep -Eq '^DEADLOCK: a deadlock: .*@flock:.* waits for custom/q, held by .*@flock:' "$MNT/why" || fail "why: $(cat "$MNT/why")"
		wait_until '[ ! -e "$MNT/custom/q" ]'
	done

	# The command line says so at once, and asks once.
	expect_ok touch "$MNT/custom/q"
	expect_status 75 timeout 60 "$ATLOCK" lock --wait 50s --who cli custom/q
	grep -q 'a deadlock: .* waits for custom/q, held by' "$T/err" || fail "$(cat "$T/err")"
	expect_equal "$(cat "$MNT"/events/20*.jsonl | grep -c '"type":"deadlock".*custom/q.*"who":"cli"')" 1
}

# What looks like a circle and is none, because a lock of it can end before the wait does: nobody is refused.
no_false_alarm() {
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

	# The lock's file is its parent's alone. The waiter has two descriptors of a file of its own.
	coproc PARENT { exec python3 -c 'import fcntl, os, subprocess, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_CREAT)
fcntl.flock(fd, fcntl.LOCK_EX)
child = subprocess.Popen(["bash", "-c", "exec 8<$0 9<&8; exec flock 9", sys.argv[1]])
sys.stdin.readline()
fcntl.flock(fd, fcntl.LOCK_UN)
sys.exit(child.wait())' "$a"; }
	waiter=$PARENT_PID
	queued a
	echo >&"${PARENT[1]}"
	expect_ok wait "$waiter"
	wait_until '[ ! -e "$a" ]'

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
}

behaviours two_holders sessions several_hats no_false_alarm
