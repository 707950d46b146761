#!/bin/bash
# root
# A ticket answers to the name it was made under and to the one that is listed, its session's too; it is made once.
. "$(dirname "$0")/lib.sh"
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
