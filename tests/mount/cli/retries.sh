#!/bin/bash
# atlock run and lock: --retries and --backoff.
. tests/mount/lib.sh
mount_fs
atlock() { "$ATLOCK" -m "$MNT" "$@"; }

expect_ok touch "$MNT/custom/x@other"

# Without them one refusal is the end; with them every try is made, and the last one says why.
expect_status 1 atlock lock custom/x@me
before=$(grep -c '"refused"' "$MNT"/events/2*.jsonl || true)
expect_status 1 atlock lock --retries 3 --backoff 1ms..5ms custom/x@me
grep -q 'custom/x is held by .*@other' "$T/err" || fail "$(cat "$T/err")"
wait_until '[ "$(grep -c "\"refused\"" "$MNT"/events/2*.jsonl)" -ge "$((before + 4))" ]'

# A lock that becomes free between two tries is taken.
atlock run --retries 1000 --backoff 10ms..50ms --lock custom/x -- sh -c ': >"$1"' - "$T/ran" &
run=$!
wait_until '[ "$(grep -c "\"refused\"" "$MNT"/events/2*.jsonl)" -ge "$((before + 6))" ]'
[ ! -e "$T/ran" ] || fail "ran without the lock"
expect_ok rm "$MNT/custom/x@other"
wait "$run" || fail "status $?"
[ -e "$T/ran" ] || fail "did not run"

# Not what cannot succeed later; and wrong words.
expect_status 64 atlock lock --retries x custom/x
expect_status 64 atlock lock --backoff 1s custom/x
expect_status 64 atlock lock --backoff 2s..1s custom/x
expect_status 64 atlock run --backoff 0..1s --lock custom/x -- true
