#!/bin/bash
# The policy: ordered rules of who may do what. Read again when told to; a bad file changes nothing. Values can be hidden.
. tests/mount/lib.sh

rules=${T%/*}/rules
cat >"$rules" <<'END'
# users by name, and by group
allow @atlt2 force custom/**
allow atlt2 transfer custom/**
deny atlt1 acquire repos/**/production
deny atlt1 priority=critical **
deny @atlt1 wait global/apply
deny atlt1 read=tok* **
END
sed '4s/deny/never/' "$rules" >"$rules.bad"

expect_fail 'line 4 of the policy' "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" -o policy="$rules.bad" "$MNT"
expect_fail 'cannot be read' "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" -o policy="$rules.no" "$MNT"
! is_mounted || fail "mounted"
mount_fs -o policy="$rules"
expect_equal "$(cat "$MNT/config/policy")" "$rules"

why_has() {
	grep -q "$1" < <(as_user "$2" cat "$MNT/why") || fail "not \"$1\": $(as_user "$2" cat "$MNT/why")"
}

# Who may take what, wait, and with which priority.
p=$MNT/repos/acme/infra/-/vpc/-/production
expect_fail 'Permission denied' as_user atlt1 touch "$p@a"
why_has 'PERMISSION_DENIED: line 4 of the policy does not let atlt1 acquire repos/acme/infra/-/vpc/-/production' atlt1
expect_ok as_user atlt1 touch "$MNT/repos/acme/infra/-/vpc/-/staging@a"
expect_ok as_user atlt2 touch "$p@a"
touch "$MNT/global/apply@x"
expect_fail 'Permission denied' as_user atlt1 timeout 5 cat "$MNT/wait/global/apply@a"
expect_fail 'Permission denied' as_user atlt1 touch "$MNT/queue/global/apply/high@a"
why_has 'line 6 of the policy' atlt1
expect_fail 'Permission denied' as_user atlt1 touch "$MNT/queue/${p#"$MNT"/}/critical@a"
touch "$MNT/custom/held@x"
expect_fail 'Permission denied' as_user atlt1 touch "$MNT/queue/custom/held/critical@a"
why_has 'line 5 of the policy' atlt1
expect_ok as_user atlt1 touch "$MNT/queue/custom/held/high@a"

# Breaking another's lock is for administrators, and whom a rule allows it.
expect_fail 'denied' as_user atlt1 rm -f "$MNT/custom/held"
expect_fail 'denied' as_user atlt2 rm -f "$MNT/custom/held"
why_has 'add @x to' atlt2
expect_ok as_user atlt2 rm "$MNT/custom/held@x"
touch "$MNT/global/plan@x"
expect_fail 'denied' as_user atlt2 rm -f "$MNT/global/plan"
expect_equal "$(field "$MNT/custom/held" owner)" atlt1

# So is giving it away.
touch "$MNT/custom/given@x" "$MNT/global/given@x"
expect_fail 'Operation not permitted' as_user atlt1 chown atlt1 "$MNT/custom/given"
expect_fail 'Operation not permitted' as_user atlt2 chown atlt1 "$MNT/custom/given"
expect_ok as_user atlt2 chown atlt1 "$MNT/custom/given@x"
expect_equal "$(field "$MNT/custom/given" owner)" atlt1
expect_fail 'Operation not permitted' as_user atlt2 chown atlt1 "$MNT/global/given"

# Values that are hidden from one and shown to another: text, size, attributes, list.
f=$MNT/custom/s
(cd "$MNT" && touch custom/s && printf 'reason=x\ntoken1=secret\n' >custom/s)
expect_equal "$(field "$f" token1)" secret
for _ in 1 2; do
	as_user atlt1 cat "$f" >"$T/one"
	as_user atlt2 cat "$f" >"$T/two"
	expect_equal "$(as_user atlt1 stat -c %s "$f")" "$(stat -c %s "$T/one")"
	expect_equal "$(as_user atlt2 stat -c %s "$f")" "$(stat -c %s "$T/two")"
done
expect_equal "$(field "$T/one" token1) $(field "$T/one" reason)" '[hidden] x'
expect_equal "$(field "$T/two" token1) $(field "$T/two" reason)" 'secret x'
expect_equal "$(as_user atlt1 getfattr -n user.token1 --only-values "$f" 2>/dev/null)" '[hidden]'
expect_equal "$(as_user atlt2 getfattr -n user.token1 --only-values "$f" 2>/dev/null)" secret
as_user atlt1 grep -q '"token1":"\[hidden\]"' "$MNT/locks.jsonl" || fail "shown"
! as_user atlt1 grep -r secret "$MNT/locks.jsonl" "$MNT/custom" || fail "shown"
as_user atlt2 grep -q '"token1":"secret"' "$MNT/locks.jsonl" || fail "hidden"
# What is hidden is not lost when its owner changes something else.
expect_ok as_user atlt1 touch "$MNT/custom/own@a"
expect_ok as_user atlt1 bash -c 'echo token2=mine >"$1"' - "$MNT/custom/own@a"
expect_equal "$(as_user atlt1 grep token2 "$MNT/custom/own")" token2=mine

# Read again: by a write, by the signal. A bad file keeps the rules and names the line.
cp "$rules.bad" "$rules"
expect_fail 'Invalid argument' bash -c 'echo "$1" >"$2"' - "$rules" "$MNT/config/policy"
grep -q 'line 4 of the policy' "$MNT/why" || fail "$(cat "$MNT/why")"
kill -HUP "$DAEMON"
wait_until 'grep -q "line 4 of the policy" "${T%/*}/daemon$MOUNTS.log"'
expect_fail 'Permission denied' as_user atlt1 touch "$MNT/repos/a/b/-/c/-/production@a"
echo 'deny atlt1 acquire custom/no' >"$rules"
kill -HUP "$DAEMON"
wait_until 'as_user atlt1 touch "$MNT/repos/a/b/-/c/-/production@a" 2>/dev/null'
expect_fail 'Permission denied' as_user atlt1 touch "$MNT/custom/no"
expect_equal "$(as_user atlt1 grep -c secret "$f")" 1
echo 'deny atlt1 acquire custom/neither' >"$rules"
echo "$rules" >"$MNT/config/policy"
expect_ok as_user atlt1 touch "$MNT/custom/no"
expect_fail 'Permission denied' as_user atlt1 touch "$MNT/custom/neither"

# Which rule decides.
expect_status 1 "$ATLOCK" -m "$MNT" policy test atlt1 acquire custom/neither
expect_equal "$(cat "$T/out")" 'denied by line 1: deny atlt1 acquire custom/neither'
expect_status 0 "$ATLOCK" -m "$MNT" policy test atlt2 acquire custom/neither
expect_equal "$(cat "$T/out")" 'no rule decides: as without a policy'
printf '\nallow @atlt2 force custom/**\n' >"$T/other"
expect_status 0 "$ATLOCK" policy test --file "$T/other" atlt2 force custom/a/b
expect_equal "$(cat "$T/out")" 'allowed by line 2: allow @atlt2 force custom/**'
expect_status 64 "$ATLOCK" policy test --file "$T/other" atlt2 fly custom/a/b
expect_status 66 "$ATLOCK" policy test --file "$T/other" nobodyatall force custom/a/b
expect_status 64 "$ATLOCK" policy test
echo fly >"$T/other"
expect_status 65 "$ATLOCK" policy test --file "$T/other" atlt2 force custom/a/b
grep -q 'line 1 of the policy' "$T/err" || fail "$(cat "$T/err")"

# Off again.
echo >"$MNT/config/policy"
expect_ok as_user atlt1 touch "$MNT/custom/neither"
expect_status 66 "$ATLOCK" -m "$MNT" policy test atlt1 acquire custom/neither
