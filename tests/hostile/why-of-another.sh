#!/bin/bash
# root
# A user who is refused something in many sessions pushes no other user's line out of `why`.
. "$(dirname "$0")/../mount/lib.sh"
mount_fs -o allow_other,sync=off
as_user atlt1 touch "$MNT/global/first@holder" "$MNT/global/second@holder"
cat >"$T/sessions" <<'PY'
import os, sys
for i in range(int(sys.argv[2])):
    if os.fork() == 0:
        os.setsid()
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            os.close(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644))
        except PermissionError:
            os._exit(0)
        os._exit(1)
    if os.wait()[1] != 0:
        sys.exit('was not refused')
PY

expect_fail 'Permission denied' as_user atlt2 bash -c ': >"$1"' bash "$MNT/global/first"
as_user atlt2 cat "$MNT/why" >"$T/before"
grep -q 'global/first' "$T/before" || fail "why says $(cat "$T/before")"
# More sessions than `why` has lines, and the victim's line is the oldest of all.
python3 "$T/sessions" "$MNT/global/second" 1200
as_user atlt2 cat "$MNT/why" >"$T/after"
grep -q 'global/first' "$T/after" || fail "another user's refusals left: $(cat "$T/after")"
setpriv --reuid=65534 --regid=65534 --clear-groups cat "$MNT/why" | grep 'global/second' >/dev/null || fail 'the one with many lines has none'
