#!/bin/bash
# root
# flock(LOCK_EX) on a handle takes a free lock until the handle is closed; on one's own it would wait for ever; LOCK_NB says so
# where it would have to wait for another.
. "$(dirname "$0")/table.inc"

want=([free]=ok [mine]=EDEADLK [session]=EAGAIN [user]=EAGAIN [root]=EAGAIN)
after=([free]=free [mine]=same [session]=same [user]=same [root]=same)
call() { outcome "$2" "$SYS" open "$1" rdonly,creat + flock ex,nb; }
check() {
	[ "$3" = free ] || return 0
	# While it is held, it is held by this open file, and by no session.
	held=$(actor "$2" "$SYS" open "$1" rdonly,creat + flock ex,nb + read)
	expect_equal "$(sed -n 's/^owner=//p' <<<"$held")" "${2#*:}"
	grep -q '^who=flock:' <<<"$held" || fail "$held"
	grep -qx 'ttl=never' <<<"$held" || fail "$held"
	! [ -e "$1" ] || fail "still held"
}
run_table

# The waiting kind: it queues where another holds the lock, and gets it next.
unset -f check
want=([free]=ok [mine]=EDEADLK)
after=([free]=free [mine]=same)
call() { outcome "$2" "$SYS" open "$1" rdonly,creat + flock ex; }
lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
run_cell "$lock" '' a:atlt1
run_cell "$lock" a:atlt1 a:atlt1
n=0
for asks in b:atlt1 a:atlt2 b:atlt2 a:root; do
	n=$((n + 1))
	expect_ok actor a:atlt1 touch "$lock"
	actor "$asks" sh -c '"$@" >/dev/null 2>&1 &' sh "$SYS" open "$lock" rdonly,creat + flock ex + mark "$T/held-$n" + await "$T/go-$n"
	wait_until '[ "$(field "$lock" waiters)" = 1 ]'
	expect_held "$lock" a:atlt1
	expect_ok actor a:atlt1 rm "$lock"
	wait_until '[ -e "$T/held-$n" ]'
	expect_equal "$(field "$lock" owner)" "${asks#*:}"
	touch "$T/go-$n"
	wait_until '! [ -e "$lock" ]'
done
