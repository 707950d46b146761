#!/bin/bash
# root
# Atlantis' Redis is read and written: its own keys only, in its own form, and no password is ever shown.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/import.inc"
mount_fs
redis_start
expect_status 0 atlock import "$SAMPLE"

redis set unrelated yes >/dev/null
redis rpush a::list 1 >/dev/null
expect_status 0 atlock export --to "$URI"
expect_equal "$(last_line)" 'exported 140 records; 0 were there already, 0 conflicts, 0 that Atlantis has no form for'
expect_equal "$(redis keys 'pr/*' | wc -l) $(redis keys 'global/*' | wc -l) $(redis keys 'github.com::*' | wc -l)" '119 1 20'
expect_equal "$(redis get 'global/apply/lock' | jq .LockMetadata.UnixTime)" 1787247959
expect_equal "$(redis get 'pr/acme/infra/./p00101/default/' | jq -r .Project.Path)" ./p00101
expect_status 0 atlock export --to "$URI"
expect_equal "$(last_line)" 'exported 0 records; 140 were there already, 0 conflicts, 0 that Atlantis has no form for'
redis set global/apply/lock '{"LockMetadata":{"UnixTime":1},"CommandName":0}' >/dev/null
expect_status 1 atlock export --to "$URI"
grep -q '^conflict global/apply: LockMetadata.UnixTime is 1787247959 here and 1 there$' "$T/out" || fail "$(cat "$T/out")"
expect_status 1 atlock verify --against "$URI"
redis del global/apply/lock >/dev/null
expect_status 0 atlock export --to "$URI"
expect_status 0 atlock verify --against "$URI"

# A key of before 0.40 is the same lock.
redis rename 'pr/acme/infra/./p00101/default/' 'pr/acme/infra/./p00101/default' >/dev/null
expect_status 0 atlock verify --against "$URI"

# Into an empty tree.
unmount_fs
rm -rf "$STORE"
mount_fs
expect_status 0 atlock import "$URI"
expect_equal "$(last_line)" \
	'imported 119 locks, 20 pull requests, 1 global lock; 0 were there already, 0 conflicts, 0 passed over'
expect_status 0 atlock verify --against "$SAMPLE"

# Statuses of before 0.25 are one less from planned_no_changes on.
redis flushall >/dev/null
redis set 'github.com::old/repo::1' '{"Projects":[{"Workspace":"w","RepoRelDir":"d","ProjectName":"","Status":3}],"Pull":{"Num":1}}' \
	>/dev/null
expect_status 0 atlock import --status-before-0.25 "$URI"
expect_equal "$(cat "$MNT/pulls/github.com/old/repo/-/1/projects/d/-/w")" applied
expect_status 1 atlock verify --against "$URI"

# Passwords.
redis config set requirepass s3cret >/dev/null
expect_status 77 atlock verify --against "$URI"
expect_status 77 atlock verify --against "redis://:wr0ng@127.0.0.1:$PORT/0"
! grep -q wr0ng "$T/out" "$T/err" || fail "a password was shown"
expect_status 1 atlock verify --against "redis://:s3cret@127.0.0.1:$PORT/0"
! grep -q s3cret "$T/out" "$T/err" || fail "a password was shown"
ATLOCK_REDIS_PASSWORD=s3cret expect_status 1 atlock verify --against "$URI"
server_stop
expect_status 69 atlock verify --against "$URI"
expect_status 64 atlock verify --against "rediss://127.0.0.1:$PORT"
