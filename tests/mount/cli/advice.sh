#!/bin/bash
# root
# What atlock is refused it tells in its own words: options and commands, not files; and only what is about this call.
. tests/mount/lib.sh
mount_fs

# refused STATUS TEXT COMMAND...: it says this, names the lock once, and nothing of the file system's files.
refused() {
	local status=$1 text=$2
	shift 2
	expect_status "$status" "$@"
	grep -qF -- "$text" "$T/err" || fail "not \"$text\" from: $* : $(cat "$T/err")"
	! grep -qE 'wait/|queue/|timeout=|line [0-9]|@pid:' "$T/err" || fail "about files: $(cat "$T/err")"
	expect_equal "$(wc -l <"$T/err")" 1
}
export ATLOCKFS=$MNT
expect_ok touch "$MNT/custom/x@other"

refused 1 'custom/x is held by root@other since' "$ATLOCK" lock custom/x
expect_equal "$(grep -o 'custom/x' "$T/err" | wc -l)" 1
grep -qF -e '--wait TIME waits for it' "$T/err" || fail "$(cat "$T/err")"
refused 1 '--wait TIME waits for it' "$ATLOCK" run --lock custom/x -- true
refused 75 'custom/x: root@other still has it: wait again, or longer (--wait)' "$ATLOCK" lock --wait 100ms custom/x
refused 75 'wait again, or longer (--wait)' "$ATLOCK" run --wait 100ms --lock custom/x -- true
refused 75 'wait again, or longer (--timeout)' "$ATLOCK" wait --timeout 100ms custom/x
refused 1 'atlock help force-unlock' "$ATLOCK" unlock custom/x
refused 1 'LOCK@WHO' "$ATLOCK" transfer --to @me custom/x
refused 1 'LOCK@WHO' "$ATLOCK" renew custom/x
! grep -q administrator "$T/err" || fail "$(cat "$T/err")"
refused 1 'LOCK@WHO' "$ATLOCK" renew --ttl 1m custom/x
refused 1 'atlock help force-unlock' as_user atlt1 "$ATLOCK" unlock custom/x
refused 77 'administrator' as_user atlt1 "$ATLOCK" force-unlock custom/x
refused 1 'a lease may be at most 2h' "$ATLOCK" lock --ttl 3h custom/y
refused 1 'a lease may be at most 2h' "$ATLOCK" renew --ttl 3h custom/x@other
refused 64 'custom/%41' "$ATLOCK" lock custom/%41

# What a session holds has no name: renew it there, or hand it on; whom it is for must be known, and as whom.
expect_ok in_session touch "$MNT/custom/s"
refused 1 "renew it there or see 'atlock help transfer'" "$ATLOCK" renew custom/s
! grep -q administrator "$T/err" || fail "$(cat "$T/err")"
expect_ok as_user atlt1 touch "$MNT/global/a" "$MNT/global/b@job7"
refused 1 'say as whom atlt2 gets it, --to atlt2@WHO' as_user atlt1 "$ATLOCK" transfer --to atlt2 global/a
! grep -q 'who=' "$T/err" || fail "$(cat "$T/err")"
refused 1 'there is no user nosuchuser' "$ATLOCK" transfer --to nosuchuser global/b
! grep -q held "$T/err" || fail "$(cat "$T/err")"
refused 1 'there is no user nosuchuser' as_user atlt1 "$ATLOCK" transfer --to nosuchuser global/b@job7
refused 1 'root gives it to a user with --to OWNER' "$ATLOCK" transfer --to @me global/b
refused 1 'else ask its holder, or root' as_user atlt2 "$ATLOCK" transfer --to @me global/b

# A branch's slash is no directory.
spelled='nothing is below a lock: a slash inside a name is spelled %2F: feature%2Fx;'
refused 64 "$spelled" "$ATLOCK" lock repos/a/b/-/d/-/feature/x
refused 64 "$spelled" "$ATLOCK" run -l repos/a/b/-/d/-/feature/x -- true
refused 64 'a slash inside a name is spelled %2F: feature%2Fx;' "$ATLOCK" lock repos/a/b/-/-/feature/x
refused 64 'a slash inside a name is spelled %2F: a%2Fb%2Fc;' "$ATLOCK" lock global/a/b/c

# A reason may say what the advice does: it stays.
expect_ok sh -c 'echo "reason=stop: wait for it below wait/ please" >> "$1"' - "$MNT/custom/x@other"
expect_status 1 "$ATLOCK" lock custom/x
grep -q 'reason "stop: wait for it below wait/ please": --wait TIME waits for it$' "$T/err" || fail "$(cat "$T/err")"
expect_ok touch "$MNT/global/apply@ops"
refused 1 "'atlock wait --free global/apply' waits until it is free" "$ATLOCK" run --command apply -- true

# Directories: which one is missing, though the last refusal was another.
refused 64 'there is no directory custom/a/b: mkdir it first' \
	sh -c 'mkdir "$2/custom/a"; "$1" lock custom/x 2>/dev/null; "$1" lock custom/a/b/c/d' - "$ATLOCK" "$MNT"
refused 64 'custom/x is a lock, nothing is below it' "$ATLOCK" lock custom/x/y

# A lock that rests after its lease.
remount_fs -o lock_delay=1m
expect_ok sh -c 'echo ttl=100ms > "$1"' - "$MNT/custom/z@short"
wait_until '[ ! -e "$MNT/custom/z" ]'
refused 1 'rests until' "$ATLOCK" lock custom/z
grep -qF -e '--wait TIME waits for it' "$T/err" || fail "$(cat "$T/err")"
