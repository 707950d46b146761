#!/bin/bash
# root
# Root's plain rm, as scripts end with it, releases nobody else's lock; an administrator who names the holder does.
. tests/mount/lib.sh
mount_fs -o allow_other
session_start other
cron='trap "rm -f \"$1\"" EXIT; touch "$1" || exit 1'

# The commonest idiom there is, in a second job of root's and beside a user's.
for lock in repos/acme/infra/-/modules/vpc/-/production custom/nightly global/apply; do
	lock=$MNT/$lock
	for holder in root atlt1; do
		expect_ok session other as_user "$holder" touch "$lock"
		before=$(cat "$lock")
		expect_fail 'cannot touch' bash -c "$cron" - "$lock"
		expect_fail 'not permitted' chown daemon "$lock"
		expect_fail 'not permitted' chmod 600 "$lock"
		expect_fail 'not permitted' touch -c "$lock"
		expect_fail '' rm "$lock"
		who=$(field "$lock" who)
		grep -qF "add @$who to the lock's name" "$MNT/why" || fail "$(cat "$MNT/why")"
		expect_equal "$(cat "$lock")" "$before"
		expect_fail 'No such file' rm "$lock@sid:1"
		expect_ok chmod 600 "$lock@$who"
		expect_ok rm "$lock@$who"
		! [ -e "$lock" ] || fail "$lock is still held"
	done
done

# The name of an open file does, too, and so do a link of by/ and the command line.
"$SYS" open "$MNT/custom/f" rdonly,creat + flock ex + mark "$T/held" + pause &
holder=$!
wait_until '[ -e "$T/held" ]'
expect_fail 'not permitted' rm "$MNT/custom/f"
expect_ok rm "$MNT/custom/f@$(field "$MNT/custom/f" who)"
! [ -e "$MNT/custom/f" ] || fail 'the open file still has it'
kill -KILL $holder
wait $holder 2>/dev/null || true
expect_ok session other as_user atlt1 touch "$MNT/custom/a" "$MNT/custom/b" "$MNT/custom/c"
expect_ok rm "$MNT/by/owner/atlt1/$(field "$MNT/custom/a" id)"
expect_ok "$ATLOCK" -m "$MNT" force-unlock custom/b >/dev/null
expect_ok "$ATLOCK" -m "$MNT" transfer --to atlt2 custom/c
expect_equal "$(field "$MNT/custom/c" owner)" atlt2
expect_equal "$(ls "$MNT/custom")" c

# A member of admin_group is an administrator in all of this; other users are not.
echo atlt1 >"$MNT/config/admin_group"
who=$(field "$MNT/custom/c" who)
expect_fail 'Permission denied' as_user atlt1 rm -f "$MNT/custom/c"
expect_ok as_user atlt1 rm "$MNT/custom/c@$who"
expect_ok touch "$MNT/custom/d" "$MNT/custom/e"
expect_ok as_user atlt1 rm "$MNT/by/owner/root/$(field "$MNT/custom/d" id)"
expect_fail 'Permission denied' as_user atlt2 rm -f "$MNT/by/owner/root/$(field "$MNT/custom/e" id)"
expect_fail 'No such file' as_user atlt2 rm "$MNT/custom/e@$(field "$MNT/custom/e" who)"
expect_ok as_user atlt1 "$ATLOCK" -m "$MNT" force-unlock custom/e >/dev/null
expect_equal "$(ls "$MNT/custom")" ''

# admin_rm=any is what an ordinary file system does.
echo any >"$MNT/config/admin_rm"
expect_ok session other as_user atlt2 touch "$MNT/custom/x"
expect_ok chown atlt1 "$MNT/custom/x"
expect_fail 'Permission denied' as_user atlt2 rm -f "$MNT/custom/x"
expect_ok rm "$MNT/custom/x"
