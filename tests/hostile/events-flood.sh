#!/bin/bash
# A user who fills a small store with events is stopped while there is room for others, who go on taking locks. When the share of events is
# used up all the same, no event is pushed out, every holder can release, and what why and health name helps.
# root
. tests/mount/lib.sh
needs_own_mounts

disk=${STORE%/*}/disk
mkdir "$disk"
mount -t tmpfs -o size=12m none "$disk"
STORE=$disk/store
mount_fs -o sync=off,rate_limit=0

# What others did, and hold.
for i in $(seq 20); do expect_ok as_user atlt2 touch "$MNT/custom/others-$i@build"; done
expect_ok as_user atlt2 rm "$MNT/custom/others-20@build"
expect_ok as_user atlt1 mkdir "$MNT/custom/directory"
before=$("$ATLOCK" -m "$MNT" audit verify | tail -n 1)
cp "$MNT/events/live" "$T/before"

# Taking and giving back until nothing can be taken any more.
flood='
import errno, os, sys
for i in range(100000):
    path = "%s/repos/acme/%s/-/d%d/-/w" % (sys.argv[1], sys.argv[2], i)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        if i % 8 != 0:
            os.unlink(path)
    except OSError as error:
        sys.exit(error.errno != errno.EDQUOT)
sys.exit("never refused")
'
expect_ok as_user atlt1 /usr/bin/python3 -c "$flood" "$MNT" infra
why=$(as_user atlt1 cat "$MNT/why")
[[ $why = QUOTA:*'atlt1 has caused more events today'*'atlock audit archive --before now FILE'* ]] || fail "why says: $why"

# The same user's changes are stopped as well, refusals make no more events than that, and renewals go on.
lock=$MNT/repos/acme/infra/-/d0/-/w
chat='
import errno, os, sys
for i in range(100000):
    if i % 16 == 0:
        os.utime(sys.argv[1])
    try:
        os.chmod(sys.argv[1], 0o600 + i % 2)
    except OSError as error:
        sys.exit(error.errno != errno.EDQUOT)
sys.exit("never refused")
'
expect_ok as_user atlt1 /usr/bin/python3 -c "$chat" "$lock"
expect_ok as_user atlt1 /usr/bin/python3 -c "${chat/os.utime/os.stat}" "$MNT/custom/directory"
expect_fail 'quota exceeded' as_user atlt1 touch "$MNT/custom/mine@build"
expect_ok as_user atlt1 touch -c "$lock"

# Others take and give back meanwhile.
for i in $(seq 200); do echo "$MNT/custom/meanwhile-$i@build"; done >"$T/meanwhile"
expect_ok as_user atlt2 xargs touch <"$T/meanwhile"
expect_ok as_user atlt2 xargs rm <"$T/meanwhile"
expect_equal "$(grep -c '"type":"released","lock":"custom/meanwhile' "$MNT/events/live")" 200
expect_status 0 "$ATLOCK" -m "$MNT" audit verify --anchor "$before"

# An administrator, who is not limited, uses up the rest: then no user takes any more.
expect_ok /usr/bin/python3 -c "$flood" "$MNT" root
why=$(cat "$MNT/why")
[[ $why = QUOTA:*'atlock audit archive --before now FILE'* ]] || fail "why says: $why"
grep -q '^degraded room: .*atlock audit archive --before now FILE' "$MNT/health" || fail "$(cat "$MNT/health")"

# Then changes that only make events, as many as there is no room for: the last ones are refused, renewals are not.
expect_ok /usr/bin/python3 -c "$chat" "$MNT/repos/acme/root/-/d0/-/w"
expect_fail 'quota exceeded' as_user atlt1 bash -c "echo a=1 >>'$lock'"
expect_ok as_user atlt1 touch -c "$lock"
expect_fail 'quota exceeded' as_user atlt2 touch "$MNT/custom/more@build"

# Every event is there, and all that is held can be given back, with its own event.
expect_ok cmp -n "$(stat -c %s "$T/before")" "$T/before" "$MNT/events/live"
expect_status 0 "$ATLOCK" -m "$MNT" audit verify --anchor "$before"
for i in $(seq 19); do expect_ok as_user atlt2 rm "$MNT/custom/others-$i@build"; done
find "$MNT/repos/acme/infra" -type f >"$T/held"
[ "$(wc -l <"$T/held")" -gt 100 ] || fail "too few are held"
expect_ok as_user atlt1 xargs rm <"$T/held"
find "$MNT/repos/acme/root" -type f >"$T/roots"
expect_ok xargs rm <"$T/roots"
expect_equal "$(grep -c '"type":"released","lock":"custom/others' "$MNT/events/live")" 20
expect_status 0 "$ATLOCK" -m "$MNT" audit verify --anchor "$before"
grep -q '^events 1 to ' "$T/out" || fail "$(cat "$T/out")"

# The way out is for administrators, and keeps all of it.
expect_status 77 as_user atlt1 "$ATLOCK" -m "$MNT" audit archive --before now "$T/mine"
expect_fail 'not permitted' as_user atlt1 bash -c "echo '$before' >'$MNT/events/anchor'"
[ ! -e "$T/mine" ] || fail 'an ordinary user made an archive'
expect_status 0 "$ATLOCK" -m "$MNT" audit archive --before now "$T/archive.jsonl"
expect_ok as_user atlt2 touch "$MNT/custom/more@build"
expect_equal "$(head -n 1 "$MNT/health")" ok
expect_status 0 "$ATLOCK" audit verify --anchor "$before" "$T/archive.jsonl" "$MNT"/events/20*.jsonl
grep -q '^events 1 to ' "$T/out" || fail "$(cat "$T/out")"
expect_ok cmp -n "$(stat -c %s "$T/before")" "$T/before" "$T/archive.jsonl"

unmount_fs
umount "$disk"
