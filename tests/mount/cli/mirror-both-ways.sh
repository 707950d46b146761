#!/bin/bash
# root
# timeout: 120
# atlock mirror, both ways: what Atlantis takes is held here, what it releases ends here, and a Redis that lost its data is filled again.
. tests/mount/lib.sh
. tests/mount/import.inc
mount_fs
redis_start

record() { # <directory> <pull number> [<project>]
	printf '{"Project":{"ProjectName":"%s","RepoFullName":"acme/infra","Path":"%s"},"Pull":{"Num":%d},"User":{"Username":"alice"},"Workspace":"prod"}' "${3:-}" "$1" "$2"
}
lock() { echo "$MNT/repos/acme/infra/-/$1/-/prod"; }
key() { echo "pr/acme/infra/$1/prod/"; }
mirror_start() {
	"$ATLOCK" -m "$MNT" mirror --interval 50ms --to "$URI" >"$T/mirror.out" 2>"$T/mirror.err" &
	mirror=$!
}
mirror_stop() {
	kill -TERM "$mirror"
	wait "$mirror" || true
}

# Taken there, held here within a second, and refused to others; released there, free here.
mirror_start
redis set "$(key vpc)" "$(record vpc 5)" >/dev/null
wait_until '[ -e "$(lock vpc)" ]' 5
expect_equal "$(field "$(lock vpc)" owner)@$(field "$(lock vpc)" who)" alice@pr:5
expect_status 1 touch "$(lock vpc)@pr:6"
redis del "$(key vpc)" >/dev/null
wait_until '[ ! -e "$(lock vpc)" ]' 5

# Taken here, there; what was taken here and is deleted there is written again. Released here, deleted there.
expect_ok touch "$(lock dns)@pr:6"
wait_until '[ -n "$(redis get "$(key dns)")" ]' 5
redis del "$(key dns)" >/dev/null
wait_until '[ -n "$(redis get "$(key dns)")" ]' 5
expect_ok test -e "$(lock dns)"
expect_ok rm "$(lock dns)@pr:6"
wait_until '[ -z "$(redis get "$(key dns)")" ]' 5
redis set global/apply/lock '{"LockMetadata":{"UnixTime":1787247959},"CommandName":0}' >/dev/null
wait_until '[ -e "$MNT/global/apply" ]' 5
redis del global/apply/lock >/dev/null
wait_until '[ ! -e "$MNT/global/apply" ]' 5

# A lock that came from Atlantis and is released here is deleted there, and does not come back.
redis set "$(key back)" "$(record back 5)" >/dev/null
wait_until '[ -e "$(lock back)" ]' 5
free_lock "$(lock back)"
wait_until '[ -z "$(redis get "$(key back)")" ]' 5
[ ! -e "$(lock back)" ] || fail "it came back"
mirror_stop
grep -q 'took over 3 locks, released 2$' "$T/mirror.out" || fail "$(cat "$T/mirror.out")"

# Both sides gave one lock: neither is touched, it is a conflict, and what is left counts when one is released.
expect_ok touch "$(lock both)@pr:7"
redis set "$(key both)" "$(record both 8)" >/dev/null
expect_status 1 atlock mirror --once --to "$URI"
grep -q 'both/-/prod is another.s there' "$T/err" || fail "$(cat "$T/err")"
expect_equal "$(field "$(lock both)" who),$(redis get "$(key both)" | jq .Pull.Num)" pr:7,8
mirror_start
wait_until 'grep -q "another.s there" "$T/mirror.err"' 5
expect_ok rm "$(lock both)@pr:7"
wait_until '[ "$(field "$(lock both)" who 2>/dev/null)" = pr:8 ]' 5

# A Redis without its data is filled again, and nothing is released for that.
expect_ok touch "$(lock one)@pr:9" "$(lock two)@pr:9"
wait_until '[ -n "$(redis get "$(key two)")" ]' 5
redis flushall >/dev/null
wait_until '[ -n "$(redis get "$(key one)")" ] && [ -n "$(redis get "$(key two)")" ] && [ -n "$(redis get "$(key both)")" ]' 5
expect_equal "$(field "$(lock both)" who)" pr:8
mirror_stop

# Two locks with one key.
redis flushall >/dev/null
expect_ok touch "$(lock vpc):a@pr:1" "$(lock vpc):b@pr:1"
expect_status 1 atlock mirror --once --keys 3 --to "$URI"
grep -q 'vpc/-/prod:a and .*vpc/-/prod:b have one key there, acme/infra/vpc/prod' "$T/err" || fail "$(cat "$T/err")"
server_stop
