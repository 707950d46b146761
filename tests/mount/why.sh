#!/bin/bash
# root
# why: the last refusal of the calling session, in one line that names lock, holder, since, until, how many wait and what to do;
# another session of the same user that was never refused sees the user's last one; other users see nothing.
. "$(dirname "$0")/lib.sh"
mount_fs

session_start a
session_start b
session_start c
as() { session "$1" as_user "${@:2}"; }
lock=repos/acme/infra/-/modules/vpc/-/production
grep -q '^OK: nothing of yours was refused' "$MNT/why" || fail "$(cat "$MNT/why")"
expect_ok as b atlt1 touch "$MNT/$lock@build-17"
expect_ok as b atlt1 touch "$MNT/queue/$lock/normal@build-18"
expect_fail 'Device or resource busy' as a atlt1 touch "$MNT/$lock"
why() { as "$1" "$2" cat "$MNT/why" | sed "s/ ([0-9]*s ago)$//"; }
line=$(why a atlt1)
expect_equal "$(wc -l <<<"$line")" 1
grep -q "^LOCK_EXISTS: $lock is held by atlt1@build-17 since [-0-9T:.]*Z until [-0-9T:.]*Z, 1 waiting: .*wait/" <<<"$line" || fail "$line"

# Each session has its own.
expect_fail 'Invalid argument' as b atlt1 touch "$MNT/custom/%41"
grep -q '^INVALID_REQUEST: .*"%41" is spelled "A"' <<<"$(as b atlt1 cat "$MNT/why")" || fail "$(as b atlt1 cat "$MNT/why")"
expect_equal "$(why a atlt1)" "$line" "a's own"
grep -q '^INVALID_REQUEST' <<<"$(as c atlt1 cat "$MNT/why")" || fail "no fallback to the user's last one"
grep -q '^OK: ' <<<"$(why a atlt2)" || fail "another user in the same session: $(why a atlt2)"

# What succeeds, or simply is not there, does not overwrite it.
expect_ok as a atlt1 touch "$MNT/custom/mine"
expect_fail '' as a atlt1 cat "$MNT/custom/none"
expect_equal "$(why a atlt1)" "$line"

# Each kind of refusal says its own.
why_after() {
	local text=$1
	shift
	as a atlt1 "$@" 2>/dev/null && fail "succeeded: $*"
	grep -q "$text" <<<"$(as a atlt1 cat "$MNT/why")" || fail "$* : $(as a atlt1 cat "$MNT/why")"
}
expect_ok as b atlt1 touch "$MNT/custom/theirs"
why_after '^LOCK_EXISTS: custom/theirs is held by atlt1@sid:' touch "$MNT/custom/theirs"
why_after '^PERMISSION_DENIED: .*custom/theirs' rm "$MNT/custom/theirs"
expect_ok as_user atlt2 touch "$MNT/global/apply@ops"
why_after '^PERMISSION_DENIED: .*global/apply is held by atlt2@ops' rm "$MNT/global/apply"
why_after '^INVALID_REQUEST: .*max_ttl' touch -c -d '+3 hours' "$MNT/custom/mine"
why_after '^INVALID_REQUEST: line 1' bash -c 'echo "bad key=1" >> "$1"' sh "$MNT/custom/mine"
why_after '^LOCK_EXISTS: ' bash -c 'echo x=1 >> "$1"' sh "$MNT/custom/theirs"
why_after '^PERMISSION_DENIED: .*move' mv "$MNT/custom/mine" "$MNT/custom/other"
why_after '^LOCK_EXISTS: custom/theirs' flock -n "$MNT/custom/theirs" true
expect_equal "$(stat -c %s "$MNT/why")" "$(cat "$MNT/why" | wc -c)"
