#!/bin/bash
# Runs that ask for the same locks in opposite order never wait for each other, and never overlap.
. tests/mount/lib.sh
mount_fs -o deadlock_policy=off,deadlock_interval=1h

cat >"$T/alone" <<'END2'
mkdir "$1/inside" || exit 9
sleep 0.0$(($$ % 5))
rmdir "$1/inside"
END2
pids=()
for i in $(seq 10); do
	"$ATLOCK" run -m "$MNT" -w 60s -l custom/a -l custom/b -l global/plan -- sh "$T/alone" "$T" &
	pids+=($!)
	"$ATLOCK" run -m "$MNT" -w 60s -l global/plan -l custom/b -l custom/a -- sh "$T/alone" "$T" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	expect_ok wait "$pid"
done
expect_equal "$(cat "$MNT/locks.jsonl")" ''

# With somebody who does it in another order, the file system ends the circle, and the run asks anew until it has all.
remount_fs
expect_ok touch "$MNT/custom/b@other"
"$ATLOCK" run -m "$MNT" -w 60s -l custom/a -l custom/b -- touch "$T/ran" &
front=$!
wait_until '[ "$(field "$MNT/custom/b" waiters)" = 1 ]'
cat "$MNT/wait/custom/a@other" >"$T/other" 2>"$T/err" &
other=$!
status=0
wait $other || status=$?
# Whoever was chosen, one of them got on.
if [ "$status" -eq 0 ]; then
	expect_ok rm "$MNT/custom/a@other"
fi
expect_ok rm "$MNT/custom/b@other"
expect_ok wait $front
[ -e "$T/ran" ] || fail "it did not run"
expect_equal "$(cat "$MNT/locks.jsonl")" ''

# The run as the victim: the oldest request is.
remount_fs -o deadlock_policy=fifo
expect_ok touch "$MNT/custom/b@other"
"$ATLOCK" run -m "$MNT" -w 60s -l custom/a -l custom/b -- touch "$T/ran2" &
front=$!
wait_until '[ "$(field "$MNT/custom/b" waiters)" = 1 ]'
expect_ok cat "$MNT/wait/custom/a@other" >"$T/other"
expect_ok rm "$MNT/custom/a@other" "$MNT/custom/b@other"
expect_ok wait $front
[ -e "$T/ran2" ] || fail "it did not run"
