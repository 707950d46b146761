#!/bin/bash
# root
# Writing owner= or who= gives a lock away: the token, the lease and the notes stay, and the giver has it no more.
. tests/mount/lib.sh
mount_fs

lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
kept() { grep -E '^(token|acquired_at|expires_at|ttl|reason)=' "$lock"; }
session_start a
session_start b
as() { session "$1" as_user "${@:2}"; }

# To another who.
expect_ok as a atlt1 sh -c 'echo reason=upgrade > "$1"' sh "$lock"
before=$(kept)
expect_ok as a atlt1 sh -c 'echo who=build-17 >> "$1"' sh "$lock"
expect_equal "$(kept)" "$before"
expect_equal "$(field "$lock" owner)@$(field "$lock" who)" atlt1@build-17
expect_fail 'Device or resource busy' as a atlt1 touch "$lock"
expect_fail 'Operation not permitted' as a atlt1 rm "$lock"
expect_ok as b atlt1 touch "$lock@build-17"
before=$(kept)

# To another user, and to both at once.
expect_ok as b atlt1 sh -c 'echo owner=atlt2 >> "$1"' sh "$lock@build-17"
expect_equal "$(kept)" "$before"
expect_equal "$(field "$lock" owner)@$(field "$lock" who)" atlt2@build-17
expect_equal "$(stat -c %U "$lock")" atlt2
expect_fail 'Permission denied' as b atlt1 touch "$lock@build-17"
expect_fail 'Permission denied' as b atlt1 rm "$lock"
expect_equal "$(field "$lock" state)" pending
expect_ok as a atlt2 touch "$lock@build-17"
expect_equal "$(field "$lock" state)" acquired
before=$(kept)
expect_ok as a atlt2 sh -c 'printf "owner=atlt1\nwho=build-18\nnew=1\n" >> "$1"' sh "$lock@build-17"
expect_equal "$(field "$lock" owner)@$(field "$lock" who)" atlt1@build-18
expect_equal "$(kept)" "$before"
expect_equal "$(field "$lock" new)" 1
expect_ok as a atlt1 rm "$lock@build-18"

# By an administrator: chown; the queue stays.
expect_ok as a atlt1 touch "$lock@build-1"
expect_ok as a atlt2 touch "$MNT/queue/${lock#"$MNT/"}/normal@build-2"
token=$(field "$lock" token)
expect_fail 'Operation not permitted' chown atlt2 "$lock"
expect_ok chown atlt2 "$lock@build-1"
expect_equal "$(field "$lock" owner)@$(field "$lock" who)" atlt2@build-1
expect_equal "$(field "$lock" token) $(field "$lock" waiters)" "$token 1"
expect_fail 'No such file' as a atlt1 rm "$lock@build-1"
expect_fail 'Permission denied' as a atlt1 rm "$lock"
expect_ok as a atlt2 rm "$lock@build-1"
expect_ok as a atlt2 touch "$lock@build-2"
expect_fail 'Operation not permitted' as a atlt2 chown atlt1 "$lock"
expect_fail 'Operation not permitted' as a atlt1 chown atlt1 "$lock"
expect_fail 'Device or resource busy' as b atlt2 sh -c 'echo owner=atlt1 >> "$1"' sh "$lock"
expect_equal "$(field "$lock" owner)@$(field "$lock" who)" atlt2@build-2

# To somebody who is not there.
expect_fail 'Invalid argument' as b atlt2 bash -c 'echo owner=no-such-user >> "$1"' sh "$lock@build-2"
expect_equal "$(field "$lock" owner)@$(field "$lock" who)" atlt2@build-2
grep -q no-such-user <<<"$(as b atlt2 cat "$MNT/why")" || fail "$(as b atlt2 cat "$MNT/why")"

# The group alone: by the owner to a group of his, by root to any.
expect_ok chgrp daemon "$lock@build-2"
expect_equal "$(stat -c %U:%G "$lock")" atlt2:daemon
expect_ok as b atlt2 chgrp atlt2 "$lock@build-2"
expect_equal "$(stat -c %U:%G "$lock")" atlt2:atlt2
expect_fail 'Operation not permitted' as b atlt2 chgrp daemon "$lock@build-2"
expect_equal "$(field "$lock" token)" "$((token + 2))" 'one grant since'

# To somebody who waits for one who waits for it: refused, and both wait on.
expect_ok touch "$MNT/custom/a@giver" "$MNT/custom/b@holder"
expect_ok touch "$MNT/queue/custom/a/normal@holder" "$MNT/queue/custom/b/normal@taker"
expect_fail 'deadlock' bash -c 'echo who=taker >> "$1"' - "$MNT/custom/a@giver"
expect_equal "$(field "$MNT/custom/a" who) $(field "$MNT/custom/a" waiters) $(field "$MNT/custom/b" waiters)" 'giver 1 1'
grep -q '^DEADLOCK.*@taker waits for custom/b' "$MNT/why" || fail "why says: $(cat "$MNT/why")"
expect_ok bash -c 'echo who=another >> "$1"' - "$MNT/custom/a@giver"
