#!/bin/bash
# A lock whose lease is over is gone for every call at that instant, and an open file of it is stale.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/custom/x
# Takes the lock and returns when its lease has just ended. Until then it is looked at, so that it may be cached.
take_and_outlive() {
	touch "$lock@me"
	[ $# -eq 0 ] || eval "$1"
	echo ttl=300ms >"$lock@me"
	end=$(date -d "$(field "$lock" expires_at)" +%s%3N)
	while [ "$(date +%s%3N)" -le "$end" ]; do
		stat "$lock" "$lock@me" >/dev/null 2>&1 || true
	done
}

take_and_outlive && expect_fail 'No such file' cat "$lock"
take_and_outlive && expect_fail 'No such file' stat "$lock"
take_and_outlive && expect_fail 'No such file' cat "$lock@me"
take_and_outlive && expect_equal "$(ls "$MNT/custom")" ''
take_and_outlive && expect_errno ENOENT utimens "$lock@me" now now
take_and_outlive && expect_errno ENOENT utimens "$lock@me" +60 +60
take_and_outlive && expect_errno ENOENT open "$lock@me" wronly
take_and_outlive && expect_errno ENOENT unlink "$lock@me"
take_and_outlive && expect_errno ENOENT unlink "$lock"
take_and_outlive && expect_errno ENOENT getxattr "$lock" user.token
take_and_outlive && touch -c "$lock@me" && expect_errno ENOENT stat "$lock"
take_and_outlive && expect_equal "$(wc -l <"$MNT/locks.jsonl")" 0
take_and_outlive && expect_ok touch "$lock@other" && expect_ok rm "$lock@other"
take_and_outlive && expect_ok "$SYS" open "$lock" rdonly,creat + flock ex,nb && wait_until '[ ! -e "$lock" ]'
take_and_outlive && expect_ok timeout 5 cat "$MNT/wait/custom/x@other" >"$T/out" && rm "$lock@other"

# A file opened while it was held.
take_and_outlive 'exec 7<>"$lock@me"'
! echo late=1 >&7 2>/dev/null || fail "wrote to a lock that is over"
! cat <&7 2>"$T/err" || fail "read a lock that is over"
grep -q 'Stale file handle' "$T/err" || fail "$(cat "$T/err")"
# Also when somebody else has it now.
touch "$lock@other"
! echo late=1 >&7 2>/dev/null || fail "wrote to another's lock"
exec 7>&-
expect_equal "$(field "$lock@other" late)" ''
