#!/bin/bash
# root
# Times that a program read from the clock a moment ago mean now: they renew a lock, as touch does, and say again what an app says.
. tests/mount/lib.sh
mount_fs -o allow_other

cat >"$T/utime.py" <<'PY'
import os, sys, time
access, modified = (int((time.time() + float(away)) * 1e9) for away in sys.argv[2:4])
os.utime(sys.argv[1], ns=(access, modified))
PY
utime() { python3 "$T/utime.py" "$@"; }

lock=$MNT/custom/nightly@build-17
expect_ok touch "$lock"
for away in 0 -1 0.5; do
	before=$(field "$lock" version)
	expect_ok utime "$lock" "$away" "$away"
	expect_equal "$(field "$lock" version) $(field "$lock" ttl)" "$((before + 1)) 30m" "renewed by $away s"
done
before=$(cat "$lock")
expect_fail 'Invalid argument' utime "$lock" 0 -3600
expect_equal "$(cat "$lock")" "$before"
# When it was modified is what counts: a lease until then.
expect_ok utime "$lock" 0 3600
expect_hour "$lock"

for lock in repos/acme/infra/-/vpc/-/prod custom/other global/apply; do
	lock=$MNT/$lock@build-17
	expect_ok touch "$lock"
	before=$(field "$lock" version)
	expect_ok "$SYS" utimens "$lock" +0 +0
	expect_equal "$(field "$lock" version)" "$((before + 1))" 'renewed'
	before=$(cat "$lock")
	expect_errno EINVAL utimens "$lock" 1000000000 1000000000
	expect_fail EPERM as_user atlt1 "$SYS" utimens "${lock%@*}" +0 +0
	expect_equal "$(cat "$lock")" "$before"
done

mkdir "$MNT/shared/db"
expect_ok as_user atlt1 bash -c 'echo UP >"$1"' - "$MNT/shared/db/apps/a"
before=$(getfattr --absolute-names -n user.written_at --only-values "$MNT/shared/db/apps/a")
expect_ok as_user atlt1 "$SYS" utimens "$MNT/shared/db/apps/a" +0 +0
[ "$(getfattr --absolute-names -n user.written_at --only-values "$MNT/shared/db/apps/a")" != "$before" ] || fail 'not said again'
expect_fail EINVAL as_user atlt1 "$SYS" utimens "$MNT/shared/db/apps/a" 1000000000 1000000000
expect_fail EACCES as_user atlt2 "$SYS" utimens "$MNT/shared/db/apps/a" +0 +0
