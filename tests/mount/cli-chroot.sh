#!/bin/bash
# In a chroot that has nothing but the program and the mount, no /proc and no /dev, atlock works with -m, with ATLOCKFS and from
# inside the mount.
# root
. "$(dirname "$0")/lib.sh"
nm -D "$ATLOCK" | grep -E '__(asan|tsan)_init' >/dev/null && skip 'sanitizers need /proc'
mount_fs

root=$T/root
mkdir -p "$root/locks" "$root/empty"
cp "$ATLOCK" "$root/atlock"
ldd "$ATLOCK" | grep -o '/[^ ]*' | while read -r library; do
	mkdir -p "$root${library%/*}"
	cp -L "$library" "$root$library"
done
# Runs atlock there, with the mount in /locks.
inside() {
	unshare --mount --propagation private sh -c 'mount --bind "$1" "$2/locks"; shift; exec chroot "$@"' - "$MNT" "$root" /atlock "$@"
}
expect_status 0 inside -m /locks status
expect_equal "$(head -n 2 "$T/out")" $'mount=/locks\nok'
expect_status 0 inside -m /locks lock --who job custom/x
expect_equal "$(field "$MNT/custom/x" who)" job
expect_status 0 inside -m /locks ls
grep -q '^custom/x	' "$T/out" || fail "$(cat "$T/out")"
expect_status 1 inside -m /locks lock custom/x
grep -q 'custom/x is held by root@job' "$T/err" || fail "$(cat "$T/err")"
expect_status 0 env ATLOCKFS=/locks bash -c "$(declare -f inside); root=$root; inside unlock custom/x@job"
expect_status 69 inside -m /empty status
grep -q '/empty: no atlockfs is mounted there' "$T/err" || fail "$(cat "$T/err")"
expect_status 69 inside -m /locks/custom status
expect_status 69 inside status
grep -q 'choose a mount with -m DIR' "$T/err" || fail "$(cat "$T/err")"

# From inside the mount none need be named.
expect_status 0 unshare --mount --propagation private sh -c 'mount --bind "$1" "$2/locks"
	exec python3 -c "import os, sys; os.chroot(sys.argv[1]); os.chdir(\"/locks/custom\"); os.execv(\"/atlock\", [\"atlock\", \"status\"])" "$2"' - \
	"$MNT" "$root"
expect_equal "$(head -n 1 "$T/out")" mount=/locks

# The daemon is gone.
crash_daemon
expect_status 69 inside -m /locks status
grep -q 'the daemon is dead' "$T/err" || fail "$(cat "$T/err")"
fusermount3 -uz "$MNT"
