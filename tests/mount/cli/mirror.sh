#!/bin/bash
# root
# timeout: 180
# atlock mirror keeps Atlantis' Redis as the tree is, leaves what is another's, comes back after either end was gone, and ends
# when told to.
. tests/mount/lib.sh
. tests/mount/import.inc
mount_fs
redis_start

lock=$MNT/repos/acme/infra/-/vpc/-/prod
key=pr/acme/infra/vpc/prod/
expect_ok touch "$lock@pr:5"
expect_status 0 atlock mirror --once --to "$URI"
expect_equal "$(redis get "$key" | jq -c '[.Pull.Num, .User.Username, .Workspace]')" '[5,"root","prod"]'
expect_status 0 atlock mirror --once --to "$URI"
expect_equal "$(last_line)" 'wrote 0 records, deleted 0, 0 conflicts, took over 0 locks, released 0'

"$ATLOCK" -m "$MNT" mirror --one-way --interval 50ms --to "$URI" >"$T/mirror.out" 2>"$T/mirror.err" &
mirror=$!
expect_ok touch "$MNT/repos/acme/infra/-/dns/-/prod@pr:6" "$MNT/global/apply"
wait_until '[ -n "$(redis get pr/acme/infra/dns/prod/)" ] && [ -n "$(redis get global/apply/lock)" ]'
printf 'head=abc\nvpc\tprod\t\tplanned\n' >"$MNT/pulls/github.com/acme/infra/-/5/projects.tsv"
wait_until '[ "$(redis get github.com::acme/infra::5 | jq -c ".Projects[0].Status")" = 1 ]'
echo applied >"$MNT/pulls/github.com/acme/infra/-/5/projects/vpc/-/prod"
wait_until '[ "$(redis get github.com::acme/infra::5 | jq -c ".Projects[0].Status")" = 4 ]'
expect_ok rm "$MNT/repos/acme/infra/-/dns/-/prod@pr:6" "$MNT/global/apply"
wait_until '[ -z "$(redis get pr/acme/infra/dns/prod/)" ] && [ -z "$(redis get global/apply/lock)" ]'

# What Atlantis did there for another pull request stays, also when the lock is released here.
redis set pr/acme/infra/app/prod/ '{"Project":{"RepoFullName":"acme/infra","Path":"app"},"Pull":{"Num":9},"Workspace":"prod"}' >/dev/null
expect_ok touch "$MNT/repos/acme/infra/-/app/-/prod@pr:7"
wait_until 'grep -q "app/-/prod is another.s there" "$T/mirror.err"'
expect_equal "$(grep -c "app/-/prod is another.s there" "$T/mirror.err")" 1
expect_ok rm "$MNT/repos/acme/infra/-/app/-/prod@pr:7"
expect_ok touch "$MNT/repos/acme/infra/-/next/-/prod@pr:7"
wait_until '[ -n "$(redis get pr/acme/infra/next/prod/)" ]'
expect_equal "$(redis get pr/acme/infra/app/prod/ | jq .Pull.Num)" 9

# Redis gone and back.
server_stop
expect_ok touch "$MNT/repos/acme/infra/-/late/-/prod@pr:8"
wait_until 'grep -q "redis at 127.0.0.1" "$T/mirror.err"'
redis_start
wait_until '[ -n "$(redis get pr/acme/infra/late/prod/)" ]' 30

# The daemon gone and back: nothing is deleted for that.
kill_daemon
chattr -i "$MNT" 2>/dev/null || true
wait_until 'grep -q "$MNT" "$T/mirror.err"'
expect_equal "$(redis get "$key" | jq .Pull.Num)" 5
mount_fs
expect_ok touch "$MNT/repos/acme/infra/-/back/-/prod@pr:8"
wait_until '[ -n "$(redis get pr/acme/infra/back/prod/)" ]' 30

kill -TERM "$mirror"
wait "$mirror" || fail "ended with status $?"
grep -q '^wrote [0-9]* records, deleted [0-9]*, ' "$T/mirror.out" || fail "$(cat "$T/mirror.out")"

# --delete makes both sides the same.
expect_status 1 atlock verify --against "$URI"
expect_status 0 atlock mirror --once --delete --to "$URI"
expect_status 0 atlock verify --against "$URI"
expect_equal "$(redis exists pr/acme/infra/app/prod/)" 0
expect_status 64 atlock mirror
expect_status 64 atlock mirror --to file
server_stop
