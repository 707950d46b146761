#!/bin/bash
# root
# atlock finds the mount: by -m before or after the command, by $ATLOCKFS, as the one it is called in,
# or as the only one there is; it never guesses.
. "$(dirname "$0")/lib.sh"
mount_fs

expect_status 0 "$ATLOCK" -m "$MNT" status
expect_equal "$(sed -n 's/^mount=//p' "$T/out")" "$MNT"
grep -qx ok "$T/out" || fail "no health"
expect_status 0 "$ATLOCK" status --mount "$MNT/."
expect_status 0 env ATLOCKFS="$MNT" "$ATLOCK" status
expect_status 0 env ATLOCKFS=/nonexistent "$ATLOCK" status -m "$MNT"
expect_status 0 as_user atlt1 "$ATLOCK" status -m "$MNT"

expect_status 69 env ATLOCKFS=/nonexistent "$ATLOCK" status
expect_status 69 "$ATLOCK" -m "$T" status
grep -qF "$T: no atlockfs is mounted there" "$T/err" || fail "$(cat "$T/err")"
expect_status 69 "$ATLOCK" -m "$MNT/global" status

# In a mount namespace of its own nothing else that runs here is seen.
cat >"$T/alone" <<'END'
for other in $(awk '/ - fuse.atlockfs / { print $5 }' /proc/self/mountinfo); do
	[ "$other" = "$MNT" ] || umount -l "$other"
done
exec "$@"
END
export MNT
expect_status 0 unshare -m sh "$T/alone" "$ATLOCK" status
expect_equal "$(sed -n 's/^mount=//p' "$T/out")" "$MNT"

mkdir "$T/a space"
expect_ok "$ATLOCKFS_BUILD/atlockfs" --store "$T/second" "$T/a space"
expect_status 0 "$ATLOCK" -m "$T/a space" status
expect_status 64 "$ATLOCK" status
grep -qF "$T/a space" "$T/err" || fail "the second is not named: $(cat "$T/err")"
grep -qF "choose one with -m" "$T/err" || fail "$(cat "$T/err")"
# Of several it is the one that the caller is in; what was said counts more.
for dir in "$T/a space" "$T/a space/custom" "$MNT" "$MNT/global"; do
	expect_status 0 env -C "$dir" "$ATLOCK" status
	mount=${dir%/custom}
	expect_equal "$(sed -n 's/^mount=//p' "$T/out")" "${mount%/global}"
done
expect_status 0 env -C "$T/a space" ATLOCKFS="$MNT" "$ATLOCK" status
expect_equal "$(sed -n 's/^mount=//p' "$T/out")" "$MNT"
expect_status 0 env -C "$T/a space" "$ATLOCK" status -m "$MNT"
expect_equal "$(sed -n 's/^mount=//p' "$T/out")" "$MNT"
mkdir "$T/a space2"
expect_status 64 env -C "$T/a space2" "$ATLOCK" status
fusermount3 -u "$T/a space"
expect_status 69 unshare -m sh -c 'umount -l "$MNT" && exec sh "$@"' sh "$T/alone" "$ATLOCK" status
grep -qF "no atlockfs is mounted here" "$T/err" || fail "$(cat "$T/err")"

crash_daemon
expect_status 69 "$ATLOCK" -m "$MNT" status
grep -qF "the daemon is dead" "$T/err" || fail "$(cat "$T/err")"
fusermount3 -uz "$MNT"
