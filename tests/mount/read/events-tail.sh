#!/bin/bash
# tail -f and tail -F show events as they happen, each once and whole, while thousands are written.
# timeout: 300
. tests/mount/lib.sh
mount_fs -o sync=off

log=$MNT/events/live
n=${ROUNDS:-5100} # locks, two events each
stdbuf -oL tail -n +1 -f -s 0.1 "$log" >"$T/f" 2>/dev/null &
f=$!
stdbuf -oL tail -n +1 -F -s 0.1 "$log" >"$T/F" 2>/dev/null &
F=$!
# A log that is longer than what tail -c is to show: of one that is shorter, and longer than a block, tail reads so many bytes from
# the start, and in the middle of a line it ends if there are more by then.
for i in $(seq 20); do
	expect_ok touch "$MNT/custom/first-$i"
done
[ "$(stat -Lc %s "$log")" -gt 5000 ] || fail 'too short'
# Readers that begin again and again, at any moment: what they see is lines, in order, without a gap.
(while [ ! -e "$T/done" ]; do
	jq .seq "$log" >"$T/seqs" || echo "jq failed"
	seq "$(wc -l <"$T/seqs")" | cmp - "$T/seqs"
	tail -c 5000 "$log" | tail -n +2 | jq -e .hash >/dev/null || echo "tail -c failed"
done) >"$T/reader" 2>&1 &
reader=$!
seq -f "$MNT/custom/%g" "$n" | xargs touch
seq -f "$MNT/custom/%g" "$n" | xargs rm
touch "$T/done"
wait "$reader"
expect_equal "$(cat "$T/reader")" ''
expect_ok touch "$MNT/custom/last"
total=$(wc -l <"$log")
[ "$total" -gt $((2 * n)) ] || fail "only $total events"
for follower in f F; do
	wait_until "[ \"\$(wc -l <'$T/$follower')\" -ge $total ]" 20
	expect_ok cmp "$T/$follower" "$log"
done
kill "$f" "$F"
wait "$f" "$F" 2>/dev/null || true
