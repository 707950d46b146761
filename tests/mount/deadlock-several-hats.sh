#!/bin/bash
# shellcheck disable=SC2016 # scripts for other shells
# Circles through what a waiting process has beside the name it waits under: open files, its own process, its session, the `atlock
# run` that started it. The newest wait is refused at once and `why` names the circle; the older goes on.
. "$(dirname "$0")/lib.sh"
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

# The command line says so at once, and asks once.
expect_ok touch "$MNT/custom/q"
expect_status 75 timeout 60 "$ATLOCK" lock --wait 50s --who cli custom/q
grep -q 'a deadlock: .* waits for custom/q, held by' "$T/err" || fail "$(cat "$T/err")"
expect_equal "$(cat "$MNT"/events/20*.jsonl | grep -c '"type":"deadlock".*custom/q.*"who":"cli"')" 1
