#!/bin/bash
# root
# A caller whom the daemon cannot see, because it runs in a pid namespace below, is nobody's session: EINVAL and the reason,
# unless he says who he is.
. "$(dirname "$0")/lib.sh"
mkdir "$T/below"
cat >"$T/below/atlockfs" <<-END
	#!/bin/sh
	exec unshare --pid --fork --kill-child "$ATLOCKFS_BUILD/atlockfs" "\$@"
END
chmod 755 "$T/below/atlockfs"
ATLOCKFS_BUILD=$T/below mount_fs

expect_fail 'Invalid argument' touch "$MNT/custom/x"
grep -q 'not visible' "$MNT/why" || fail "why says: $(cat "$MNT/why")"
grep -q '@' "$MNT/why" || fail "why does not say what to do: $(cat "$MNT/why")"
expect_fail 'Invalid argument' bash -c 'set -C; : >"$1"' - "$MNT/custom/x"
expect_fail 'Invalid argument' cat "$MNT/wait/custom/x"
expect_fail 'Invalid argument' touch "$MNT/queue/custom/x/normal"
expect_fail 'Invalid argument' touch "$MNT/custom/x@pid:$$"
[ ! -e "$MNT/custom/x" ] || fail "taken by nobody: $(cat "$MNT/custom/x")"

expect_ok touch "$MNT/custom/x@me"
expect_equal "$(field "$MNT/custom/x" who)" me
expect_fail 'busy' touch "$MNT/custom/x@other"
expect_ok touch -c "$MNT/custom/x@me"
expect_ok rm "$MNT/custom/x@me"
# A flock is known by its open file.
expect_ok flock "$MNT/custom/x" true
