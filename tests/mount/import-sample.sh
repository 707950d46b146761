#!/bin/bash
# root
# A Bolt file that Atlantis left is taken over: every lock, pull request and global lock, once, without tokens, with nothing lost
# on the way back.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/import.inc"
mount_fs

expect_status 0 atlock import --dry-run "$SAMPLE"
expect_equal "$(last_line)" \
	'would import 119 locks, 20 pull requests, 1 global lock; 0 were there already, 0 conflicts, 0 passed over'
expect_equal "$(wc -l <"$T/out")" 141
expect_equal "$(cat "$MNT/locks.jsonl")" '' 'locks after a dry run'
expect_equal "$(ls "$MNT/pulls")" '' 'pull requests after a dry run'

expect_status 0 atlock import "$SAMPLE"
expect_equal "$(cat "$T/out")" \
	'imported 119 locks, 20 pull requests, 1 global lock; 0 were there already, 0 conflicts, 0 passed over'
expect_equal "$(find "$MNT/repos" -type f | wc -l)" 119
expect_equal "$(find "$MNT/pulls" -name projects.tsv | wc -l)" 20
expect_equal "$(ls "$MNT/global")" apply
expect_equal "$(find "$MNT/repos" -type f -exec cat {} + | grep -cx 'ttl=never')" 119
lock=$MNT/repos/acme/infra/-/p00101/-/default
expect_equal "$(field "$lock" who | cut -d: -f1)" pr
expect_equal "$(field "$lock" uid)" 65534
grep -q '^time=2026-' "$lock" || fail "no time"
expect_equal "$(field "$MNT/global/apply" time)" 2026-08-20T17:45:59Z
expect_equal "$(field "$MNT/global/apply" ttl)" never
expect_equal "$(grep -c . "$MNT/pulls/github.com/acme/app-infra/-/3/projects.tsv")" 8
expect_equal "$(cat "$MNT/pulls/github.com/acme/app-infra/-/3/projects/q6/-/x%40y")" policy_check_passed

# No token, neither in the tree nor in the store.
grep -q SECRETTOKEN "$SAMPLE" || fail "the sample has no token to lose"
! grep -rq SECRETTOKEN "$MNT/repos" "$MNT/global" "$MNT/pulls" || fail "a token in the tree"
! grep -q SECRETTOKEN "$MNT/locks.jsonl" || fail "a token in locks.jsonl"
! grep -rqa SECRETTOKEN "$STORE" || fail "a token in the store"

# Twice is once.
expect_status 0 atlock import "$SAMPLE"
expect_equal "$(last_line)" \
	'imported 0 locks, 0 pull requests, 0 global locks; 140 were there already, 0 conflicts, 0 passed over'

# The way back: every field that Atlantis reads, as another reader of the file sees it.
expect_status 0 atlock export --format atlantis
canonical <"$T/out" >"$T/exported"
canonical <"$DATA/atlantis-sample.jsonl" >"$T/expected"
diff "$T/expected" "$T/exported" >"$T/diff" || fail "the export differs: $(head -n 4 "$T/diff")"
expect_status 0 atlock verify --against "$SAMPLE"
expect_equal "$(last_line)" '140 records are the same, 0 differences'

# And it survives.
remount_fs
expect_status 0 atlock verify --against "$SAMPLE"

# From lines into another tree, in both formats.
cp "$T/exported" "$T/lines"
atlock export --format jsonl >"$T/native" 2>/dev/null
for lines in "$T/lines" "$T/native"; do
	mkdir -p "$T/mnt2"
	expect_ok "$ATLOCKFS_BUILD/atlockfs" --store "$T/store-${lines##*/}" "$T/mnt2"
	"$ATLOCK" -m "$T/mnt2" import - <"$lines" >"$T/out2" 2>&1 || fail "$(cat "$T/out2")"
	expect_status 0 "$ATLOCK" -m "$T/mnt2" verify --against "$SAMPLE"
	fusermount3 -u "$T/mnt2"
done
