#!/bin/bash
# `cat` of a ticket shows its position, how many are ahead, the expected wait from past hold times, and the deadline.
. "$(dirname "$0")/lib.sh"
mount_fs -o queue_timeout=5m

lock=$MNT/custom/x
queue=$MNT/queue/custom/x
expect_ok touch "$lock@a"
expect_ok touch "$queue/low@last" "$queue/normal@middle" "$queue/high@next"
n=0
for ticket in high@next normal@middle low@last; do
	expect_equal "$(field "$queue/$ticket" ahead)" "$n"
	n=$((n + 1))
	expect_equal "$(field "$queue/$ticket" position)" "$n"
	expect_equal "$(field "$queue/$ticket" priority)" "${ticket%@*}"
	expect_equal "$(field "$queue/$ticket" lock)" custom/x
	since=$(date -d "$(field "$queue/$ticket" since)" +%s)
	deadline=$(date -d "$(field "$queue/$ticket" deadline)" +%s)
	expect_equal $((deadline - since)) 300
	expect_equal "$(stat -c %s "$queue/$ticket")" "$(wc -c <"$queue/$ticket")" "size of $ticket"
done
expect_equal "$(field "$queue/high@next" expected_wait)" unknown

# Once a lock has been held, what is expected is known, and longer for those further back.
expect_ok rm "$lock@a"
expect_ok touch -c "$lock@next"
for ticket in normal@middle low@last; do
	text=$(field "$queue/$ticket" expected_wait)
	[[ $text =~ ^[0-9] ]] || fail "$ticket expects: $text"
done
