#!/bin/bash
# What a queue shows: the names of tickets, and their text. Their order is in order.sh.
. tests/mount/lib.sh

# A ticket answers to the name it was made under and to the one that is listed, its session's too; it is made once.
names() {
	needs_root
	mount_fs

	lock=$MNT/custom/x
	queue=$MNT/queue/custom/x
	expect_ok touch "$lock@first"
	expect_ok touch "$queue/high@build-17" "$queue/normal"
	listed=$(ls "$queue")
	grep -qx '000001-high-[0-9]*-root@build-17' <<<"$listed" || fail "listed as: $listed"
	grep -qx "000002-normal-[0-9]*-root@sid:$(ps -o sid= -p $$ | tr -d ' ')" <<<"$listed" || fail "listed as: $listed"
	expect_equal "$(field "$queue/high@build-17" who)" build-17
	expect_equal "$(field "$queue/000001-high-$(field "$queue/high@build-17" ticket)-root@build-17" who)" build-17
	# Ranks change while others come and go: the rest of the name is the ticket's.
	expect_equal "$(field "$queue/000007-high-$(field "$queue/high@build-17" ticket)-root@build-17" who)" build-17
	expect_fail 'No such file' cat "$queue/000001-low-$(field "$queue/high@build-17" ticket)-root@build-17"
	expect_fail 'No such file' cat "$queue/low@build-17"
	expect_fail 'No such file' in_session cat "$queue/normal"

	# Touching it again finds it; another priority is mv's business.
	expect_ok touch "$queue/high@build-17" "$queue/normal"
	expect_fail 'File exists' touch "$queue/low@build-17"
	grep -q 'mv the ticket' "$MNT/why" || fail "why says: $(cat "$MNT/why")"
	expect_equal "$(find "$queue" -type f | wc -l)" 2
	expect_fail 'Invalid argument' touch "$queue/urgent@build-18"
	expect_fail 'Invalid argument' touch "$queue/high@sid:1"
	expect_fail 'Invalid argument' touch "$queue/high@"

	# A free lock is granted to the ticket at once.
	expect_ok touch "$MNT/queue/custom/y/low@z"
	expect_equal "$(field "$MNT/custom/y" who)" z
	expect_equal "$(ls "$MNT/queue/custom/y")" ''
}

# `cat` of a ticket shows its position, how many are ahead, the expected wait from past hold times, and the deadline.
text() {
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
		[[ $text =~ ^(0|([0-9]+(d|h|m|s|ms))+)$ ]] || fail "$ticket expects: $text"
	done
}

behaviours names text
