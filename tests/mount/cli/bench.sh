#!/bin/bash
# long
# root
# atlock bench says what the mount can do, and leaves nothing behind however it ends; it is refused where nothing may be taken.
. tests/mount/lib.sh
mount_fs

atlock() {
	"$ATLOCK" -m "$MNT" "$@"
}
nothing_left() {
	[ ! -s "$MNT/locks.jsonl" ] && [ -z "$(ls "$MNT/custom" "$MNT/repos" | grep atlock-bench)" ]
}

# Wrong words.
expect_status 64 atlock bench --jobs 0
expect_status 64 atlock bench --jobs 257
expect_status 64 atlock bench --time soon
expect_status 64 atlock bench --time 11m
expect_status 64 atlock bench cycles
grep -qF '"cycles" is none of cycle, read and handover' "$T/err" || fail "$(cat "$T/err")"

# A line each, with the mode of the store; nothing for who has no terminal but that.
expect_status 0 atlock bench --time 300ms --jobs 3
nothing_left || fail "$(cat "$MNT/locks.jsonl"; ls "$MNT/custom")"
[ ! -s "$T/err" ] || fail "$(cat "$T/err")"
head -n 1 "$T/out" | grep -E "^$MNT: sync=commit, [0-9]+ processors, in custom/atlock-bench-" >/dev/null || fail "$(cat "$T/out")"
expect_equal "$(grep -cE '^take a lock and give it back +[13] +[0-9.]+ +[0-9.]+[um]?s +[0-9.]+[um]?s +[0-9.]+[um]?s$' "$T/out")" 2
grep -qE '^cat a lock that is held +1 +[0-9.]+ ' "$T/out" || fail "$(cat "$T/out")"
grep -qE '^hand a lock over to who waits +2 +- +[0-9.]+[um]?s ' "$T/out" || fail "$(cat "$T/out")"
[ "$(wc -L <"$T/out")" -le 80 ] || [ "$(tail -n +2 "$T/out" | wc -L)" -le 80 ] || fail "too wide: $(cat "$T/out")"

# JSON, of those that are named. It is what happened: each cycle is two events.
before=$(sed -n 's/^events=//p' "$MNT/health")
expect_status 0 atlock bench --json --time 300ms --jobs 1 cycle handover
after=$(sed -n 's/^events=//p' "$MNT/health")
expect_equal "$(jq -r '[.figures[].what] | join(" ")' "$T/out")" 'cycle handover'
expect_equal "$(jq -r '.sync, (.figures[0] | .processes, .refused)' "$T/out" | tr '\n' ' ')" 'commit 1 0 '
expect_equal "$(jq '.figures[0] | .rate > 0 and .p50_us > 0 and .p50_us <= .p90_us and .p90_us <= .p99_us
	and ((.rate * .seconds / .count - 1) | fabs) < 0.01 and .seconds > 0' "$T/out")" true
expect_equal "$(jq '.figures[1] | has("rate") or .p50_us <= 0' "$T/out")" false
count=$(jq '.figures[0].count * 2' "$T/out")
[ $((after - before)) -ge "$count" ] || fail "$count calls in $((after - before)) events"
nothing_left || fail "$(cat "$MNT/locks.jsonl")"
expect_status 74 sh -c '"$1" -m "$2" bench --json --time 100ms cycle >/dev/full' - "$ATLOCK" "$MNT"
nothing_left || fail "$(cat "$MNT/locks.jsonl")"

# Ended in the middle of each, by whatever: nothing is left. Who starts it from a script must not have ^C ignored.
for what in cycle read handover; do
	for number in INT TERM KILL; do
		echo "$what, ended by SIG$number"
		env --default-signal=INT "$ATLOCK" -m "$MNT" bench --time 5m --jobs 3 $what >"$T/out" 2>"$T/err" &
		bench=$!
		wait_until "grep -q atlock-bench '$MNT/locks.jsonl' || ! kill -0 $bench 2>/dev/null" 30
		kill -0 $bench 2>/dev/null || fail "$what ended by itself: $(cat "$T/err")"
		[ $what != handover ] || wait_until "grep -q '\"kind\":\"waiter\"' '$MNT/locks.jsonl'" 30
		kill -$number $bench
		status=0
		wait $bench 2>/dev/null || status=$?
		expect_equal $status $((128 + $(kill -l $number))) "$what $number"
		# Who was killed cannot have done it; another one does a moment later.
		[ $number = KILL ] || nothing_left || fail "$what $number: $(cat "$MNT/locks.jsonl"; ls "$MNT/custom")"
		wait_until nothing_left 30
	done
done

# One of the pair is killed when the other has just taken the lock and looks for it in the queue, then bench itself.
env --default-signal=INT "$ATLOCK" -m "$MNT" bench --time 5m handover >"$T/out" 2>"$T/err" &
bench=$!
waiter=
stopped_before_its_wait() {
	[ -n "$waiter" ] || waiter=$(pgrep -P $bench | sed -n 3p)
	[ -n "$waiter" ] || return 1
	kill -STOP "$waiter"
	wait_until '[[ $(cat "/proc/$waiter/stat") = *") T "* ]]'
	[ "$(jq -r .kind "$MNT/locks.jsonl" 2>/dev/null)" = lock ] && grep -q '"who":"one"' "$MNT/locks.jsonl" && return
	kill -CONT "$waiter"
	return 1
}
wait_until stopped_before_its_wait 30
kill -KILL $bench "$waiter"
wait $bench 2>/dev/null || true
wait_until nothing_left 30

# A terminal sees how far it is, and ^C reaches everybody.
export ATLOCK MNT
on_terminal sh -c 'exec "$ATLOCK" -m "$MNT" bench --time 5m cycle' >"$T/screen" <<'END'
expect take a lock and give it back, 1 process [
until grep -q atlock-bench "$MNT/locks.jsonl"
send \x03
status -2
END
nothing_left || fail "$(cat "$MNT/locks.jsonl")"

# Refusals by the rate limit are counted and waited out.
echo 20 >"$MNT/config/rate_limit"
expect_status 0 as_user atlt1 "$ATLOCK" -m "$MNT" bench --json --time 1s --jobs 2
jq -e '.refused > 0 and ([.figures[].refused] | add) == .refused' "$T/out" >/dev/null || fail "$(cat "$T/out")"
grep -qE '^atlock bench: [0-9]+ calls were refused by the option rate_limit=20' "$T/err" || fail "$(cat "$T/err")"
jq -e '.figures[1].rate < 100' "$T/out" >/dev/null || fail "not limited: $(cat "$T/out")"
echo 0 >"$MNT/config/rate_limit"
nothing_left || fail "$(cat "$MNT/locks.jsonl")"

# A hook would be told of every lock.
echo 'cat >/dev/null' >"$MNT/config/on_event"
expect_status 1 atlock bench --time 100ms
grep -q on_event "$T/err" || fail "$(cat "$T/err")"
expect_status 0 atlock bench --time 100ms --force cycle
echo >"$MNT/config/on_event"

# Who may not write below custom/ takes locks below repos/; who may take none is told so, and how that came.
chmod 755 "$MNT/custom"
expect_status 0 as_user atlt1 "$ATLOCK" -m "$MNT" bench --time 200ms --jobs 2
head -n 1 "$T/out" | grep 'in repos/atlock-bench-' >/dev/null || fail "$(cat "$T/out")"
expect_equal "$(tail -n +4 "$T/out" | wc -l)" 4
nothing_left || fail "$(cat "$MNT/locks.jsonl")"
echo 'deny atlt1 acquire **' >"${T%/*}/rules"
echo "${T%/*}/rules" >"$MNT/config/policy"
expect_status 77 as_user atlt1 "$ATLOCK" -m "$MNT" bench --time 200ms
grep -q 'you may take no lock to measure with: below custom/: .*; below repos/: line 1 of the policy' "$T/err" || fail "$(cat "$T/err")"
chmod 777 "$MNT/custom"
expect_status 77 as_user atlt1 "$ATLOCK" -m "$MNT" bench --time 200ms
nothing_left || fail "$(cat "$MNT/locks.jsonl")"
echo >"$MNT/config/policy"

remount_fs -o sync=off
expect_status 0 atlock bench --time 100ms cycle
head -n 1 "$T/out" | grep 'sync=off (what is acknowledged may be lost' >/dev/null || fail "$(cat "$T/out")"
