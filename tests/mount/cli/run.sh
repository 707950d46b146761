#!/bin/bash
# root
# atlock run holds locks while a command runs, tells it which, ends as it does, and leaves nothing behind.
. tests/mount/lib.sh
mount_fs

lock=repos/acme/infra/-/modules/vpc/-/production
run() {
	"$ATLOCK" run -m "$MNT" "$@"
}

# Wrong words.
expect_status 64 run
grep -q 'which lock' "$T/err" || fail "$(cat "$T/err")"
expect_status 64 run --lock "$lock"
expect_status 64 run --lock "$lock" --wait soon -- true
expect_status 64 run --lock "$lock" --priority urgent -- true
expect_status 64 run --lock nowhere/x -- true
expect_status 64 run --lock repos/acme -- true
grep -q 'directory' "$T/err" || fail "$(cat "$T/err")"
expect_status 64 run --lock "$lock@me" -- true
expect_status 64 run --command a/b -- true
expect_status 127 run --lock "$lock" -- "$T/nothing"
expect_status 127 run --lock "$lock" -- no-such-command
grep -q 'no-such-command: No such file' "$T/err" || fail "$(cat "$T/err")"
echo 'echo ran' >"$T/plain"
expect_status 126 run --lock "$lock" -- "$T/plain"
expect_status 126 run --lock "$lock" -- "$T"
[ ! -e "$MNT/$lock" ] || fail "left behind"

# What the command sees, in the order given; and its status.
cat >"$T/show" <<'END2'
#!/bin/sh
echo "$ATLOCK_LOCK|$ATLOCK_TOKEN|$ATLOCK_ID|$ATLOCKFS"
echo "$ATLOCK_LOCKS" | tr '\n' ' '
echo
for l in $ATLOCK_LOCKS; do
	sed -n 's/^token=//p; s/^id=//p; s/^ttl=//p; s/^who=//p' "$ATLOCKFS/$l@$ATLOCK_WHO" | tr '\n' ' '
	echo
done
exit 7
END2
chmod 755 "$T/show"
expect_status 7 run --lock "$MNT/$lock" --lock global//plan --lock "$lock" -- "$T/show"
grep -q "^$lock|[0-9]*|lock_.*|$MNT\$" "$T/out" || fail "$(cat "$T/out")"
expect_equal "$(sed -n 2p "$T/out")" "$lock global/plan "
expect_equal "$(wc -l <"$T/out")" 4
expect_equal "$(sed -n 's/.*|\([0-9]*\)|\(lock_[^|]*\)|.*/\1 \2/p' "$T/out")" "$(sed -n 3p "$T/out" | awk '{ print $3, $1 }')"
grep -q 'pid:.* never $' "$T/out" || fail "$(cat "$T/out")"
[ ! -e "$MNT/$lock" ] && [ ! -e "$MNT/global/plan" ] || fail "left behind"
expect_status 143 run --lock "$lock" -- sh -c 'kill -TERM $$'
expect_status 0 run --lock "$lock" --ttl 90s --priority high -- sh -c 'grep -x -e ttl=90s -e priority=high "$ATLOCKFS/$ATLOCK_LOCK"'
expect_equal "$(wc -l <"$T/out")" 2
expect_status 1 run --lock "$lock" --ttl 30d -- true
grep -q max_ttl "$T/err" || fail "$(cat "$T/err")"

# Held by another: refused at once, with the reason; or after some time.
expect_ok touch "$MNT/$lock@other"
expect_status 1 run --lock "$lock" -- touch "$T/ran"
grep -q "@other" "$T/err" || fail "$(cat "$T/err")"
expect_status 1 run --lock global/plan --lock "$lock" -- touch "$T/ran"
[ ! -e "$MNT/global/plan" ] || fail "one of two is held"
expect_status 75 run --lock global/plan --lock "$lock" --wait 300ms -- touch "$T/ran"
[ ! -e "$MNT/global/plan" ] || fail "one of two is held"
[ ! -e "$T/ran" ] || fail "it ran"
run --lock "$lock" --wait 60s -- touch "$T/ran" &
waiter=$!
wait_until '[ "$(field "$MNT/$lock" waiters)" = 1 ]'
expect_ok rm "$MNT/$lock@other"
expect_ok wait $waiter
[ -e "$T/ran" ] || fail "it did not run"
rm "$T/ran"

# --command: another's global/apply stops it, before and after the wait; one's own does not.
expect_status 0 run --command apply -- true
expect_ok touch "$MNT/global/apply@freeze"
expect_status 1 run --command apply --lock "$lock" -- touch "$T/ran"
grep -q 'global/apply.*@freeze' "$T/err" || fail "$(cat "$T/err")"
expect_status 0 run --command plan --lock "$lock" -- true
expect_ok rm "$MNT/global/apply@freeze"
expect_ok touch "$MNT/$lock@other"
run --command apply --lock "$lock" --wait 60s -- touch "$T/ran" 2>"$T/err2" &
waiter=$!
wait_until '[ "$(field "$MNT/$lock" waiters)" = 1 ]'
expect_ok touch "$MNT/global/apply@freeze"
expect_ok rm "$MNT/$lock@other"
status=0
wait $waiter || status=$?
expect_equal "$status" 1 'stopped while it waited'
[ ! -e "$T/ran" ] && [ ! -e "$MNT/$lock" ] || fail "it ran, or left its lock"
expect_ok rm "$MNT/global/apply@freeze"
expect_ok touch "$MNT/global/apply"
expect_status 0 run --command apply -- true
expect_ok rm "$MNT/global/apply"

# Ordinary users; and processes of a container.
expect_status 0 as_user atlt1 "$ATLOCK" run -m "$MNT" -l "$lock" -- sh -c 'sed -n "s/^owner=//p" "$ATLOCKFS/$ATLOCK_LOCK"'
expect_equal "$(cat "$T/out")" atlt1
expect_status 0 unshare --pid --fork --mount-proc "$ATLOCK" run -m "$MNT" -l "$lock" -- \
	sh -c 'sed -n "s/^who=//p; s/^ttl=//p" "$ATLOCKFS/$ATLOCK_LOCK@$ATLOCK_WHO"'
grep -q '^pid:' "$T/out" && grep -qx never "$T/out" || fail "$(cat "$T/out")"
[ ! -e "$MNT/$lock" ] || fail "left behind"
