#!/bin/bash
# root
# timeout: 180
# An import that is killed leaves whole locks only, and the next one completes it.
. tests/mount/lib.sh
. tests/mount/import.inc
mount_fs

killed=0
for round in $(seq 1 12); do
	timeout -s KILL "0.$(printf '%02d' $((round * 5)))" "$ATLOCK" -m "$MNT" import "$SAMPLE" >/dev/null 2>&1 ||
		killed=$((killed + 1))
	[ "$(jq -s 'map(select(.kind == "lock" and (.meta.atlantis == null or .ttl != "never"))) | length' \
		"$MNT/locks.jsonl")" -eq 0 ] || fail "half a lock"
done
[ "$killed" -gt 0 ] || fail "none was killed"
expect_status 0 atlock import "$SAMPLE"
expect_status 0 atlock verify --against "$SAMPLE"
expect_equal "$(last_line)" '140 records are the same, 0 differences'

# A pull request without its statuses is one that was cut off.
rm "$MNT/pulls/github.com/acme/app-infra/-/3/projects.tsv"
expect_status 0 atlock import "$SAMPLE"
expect_equal "$(last_line)" \
	'imported 0 locks, 1 pull request, 0 global locks; 139 were there already, 0 conflicts, 0 passed over'
expect_status 0 atlock verify --against "$SAMPLE"
