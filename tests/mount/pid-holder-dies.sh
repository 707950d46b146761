#!/bin/bash
# A lock held as @pid: ends with that process, killed or not, and the next in the queue has it.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/custom/x
mkfifo "$T/hold"
exec 9<>"$T/hold"
# Takes the lock for a process that lives until it is told otherwise.
hold() {
	rm -f "$T/held"
	bash -c 'touch "$1@pid:$$" && : >"$2" && read -r _' - "$lock" "$T/held" <&9 &
	holder=$!
	wait_until '[ -e "$T/held" ]'
}

hold
expect_equal "$(field "$lock" who)" "pid:$holder"
expect_equal "$(field "$lock" ttl)" never
expect_fail 'busy' touch "$lock@other"
kill -KILL $holder
wait_until '[ ! -e "$lock" ]' 2

# An ordinary end is an end as well.
hold
echo >&9
expect_ok wait $holder
wait_until '[ ! -e "$lock" ]' 2

# The queue moves on.
hold
cat "$MNT/wait/custom/x@next" >"$T/out" &
waiter=$!
wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
kill -KILL $holder
expect_ok wait $waiter
expect_equal "$(field "$T/out" who)" next
expect_ok rm "$lock@next"

# What it had released, and others have taken since, is not its any more.
hold
free_lock "$lock"
expect_ok touch "$lock@other"
kill -KILL $holder
wait $holder 2>/dev/null || true
expect_ok touch "$MNT/custom/y"
expect_ok touch -c "$lock@other"

# A ticket goes with its process too.
bash -c 'touch "$1/queue/custom/x/high@pid:$$" && : >"$2" && read -r _' - "$MNT" "$T/queued" <&9 &
queued=$!
wait_until '[ -e "$T/queued" ]'
expect_equal "$(field "$lock" waiters)" 1
kill -KILL $queued
wait_until '[ "$(field "$lock" waiters)" -eq 0 ]' 2
