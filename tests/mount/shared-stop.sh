#!/bin/bash
# shared/<resource>/stop@<app> is a lock with a condition: every other app is DOWN. It has all that a lock has.
. "$(dirname "$0")/lib.sh"
mount_fs

cd "$MNT/shared"
mkdir db
echo UP >db/apps/a
echo UP >db/apps/b
expect_fail 'Device or resource busy' touch db/stop@a
grep -q '^IN_USE: shared/db is in use: b is UP (said so 0s ago)' "$MNT/why" || fail "$(cat "$MNT/why")"
expect_errno EBUSY open db/stop@a wronly,creat,excl
expect_equal "$(head -n 1 db/verdict@a)" keep
grep -qx 'blocks UP [0-9]s b' db/verdict@a
grep -qx 'self UP [0-9]s a' db/verdict@a
expect_fail 'No such file' cat db/stop
expect_equal "$(ls db)" "$(printf 'apps\nverdict')"

# What is not known counts as up.
echo UNKNOWN >db/apps/b
expect_fail 'Device or resource busy' touch db/stop@a
echo DOWN >db/apps/b
expect_equal "$(head -n 1 db/verdict@a)" stop
expect_equal "$(head -n 1 db/verdict@b)" keep
expect_equal "$(head -n 1 db/verdict)" keep

# Who wants to must say so, and be an app.
expect_fail 'Invalid argument' touch db/stop
grep -q 'stop@<app>' "$MNT/why"
expect_fail 'Invalid argument' touch db/stop@nobody
grep -q 'create apps/nobody' "$MNT/why"
expect_fail 'Invalid argument' touch "db/stop@pid:$$"
expect_errno ENOENT stat db/verdict@nobody

expect_errno ENOENT unlink db/stop@a
expect_ok touch db/stop@a
expect_equal "$(field db/stop type)" shared
expect_equal "$(field db/stop who)" a
expect_equal "$(field db/stop ttl)" 1m 'the lease'
[ "$(field db/stop token)" -gt 0 ]
expect_equal "$(getfattr -n user.who --only-values db/stop)" a
expect_equal "$(ls db)" "$(printf 'apps\nstop\nverdict')"
expect_equal "$(jq -r 'select(.lock == "shared/db/stop").who' "$MNT/locks.jsonl")" a
expect_equal "$(head -n 1 db/verdict)" stop 'about the holder, while there is one'
grep -q '^held until 20.* by .*@a$' db/verdict
expect_ok bash -c 'echo reason=upgrade >>db/stop@a'
expect_equal "$(field db/stop reason)" upgrade

# Nobody else, not even b that is down, and nobody else gives it back.
expect_errno EEXIST open db/stop@a wronly,creat,excl
expect_errno EEXIST open db/stop@b wronly,creat,excl
expect_fail 'Device or resource busy' touch db/stop@b
expect_errno ENOENT unlink db/stop@b
expect_fail 'Device or resource busy' rm db/apps/a
expect_fail 'not empty' rmdir db
[ -e db/stop@a ] && [ ! -e db/stop@b ]

# Renewed while the condition is true, and not when it is not any more.
before=$(field db/stop expires_at)
expect_ok touch -c db/stop@a
[ "$(field db/stop expires_at)" != "$before" ]
echo UP >db/apps/b
before=$(field db/stop expires_at)
expect_fail 'Device or resource busy' touch -c db/stop@a
expect_fail 'Device or resource busy' touch db/stop@a
expect_fail 'Device or resource busy' touch -c -d '+10 minutes' db/stop@a
expect_fail 'Device or resource busy' bash -c 'echo ttl=10m >>db/stop@a'
expect_equal "$(field db/stop expires_at)" "$before"
expect_equal "$(head -n 1 db/verdict)" keep
grep -q '^blocks UP .* b$' db/verdict

# The lease ends by itself: then it may be b's turn.
expect_ok bash -c 'echo ttl=300ms >>db/stop@a'
wait_until '[ ! -e db/stop ]'
echo DOWN >db/apps/a
expect_ok touch db/stop@b
expect_ok rm db/stop@b
expect_ok bash -c 'set -C; : >db/stop@b'
expect_ok rm db/stop@b

# No lock means no right to stop, whatever the verdict: it has to be taken.
echo DOWN >db/apps/b
expect_equal "$(head -n 1 db/verdict)" stop
expect_errno ENOENT utimens db/stop@a now now
[ ! -e db/stop@a ]

# It survives a crash of the daemon, condition and all.
cd /
touch "$MNT/shared/db/stop@a"
kill_daemon
mount_fs
[ -e "$MNT/shared/db/stop@a" ]
expect_fail 'Device or resource busy' touch "$MNT/shared/db/stop@b"
expect_ok touch "$MNT/shared/db/stop@a"
