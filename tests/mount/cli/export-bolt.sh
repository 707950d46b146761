#!/bin/bash
# atlock export --to bolt:FILE makes a file that Atlantis can start with: what was imported from one is in the other.
# root
. tests/mount/lib.sh
. tests/mount/import.inc
mount_fs

expect_status 0 atlock import "$SAMPLE"
expect_status 0 atlock export --to "bolt:$T/new.db"
expect_equal "$(last_line)" 'exported 140 records; 0 were there already, 0 conflicts, 0 that Atlantis has no form for'
expect_equal "$(stat -c '%a %s' "$T/new.db" | cut -d ' ' -f 1),$(($(stat -c %s "$T/new.db") % 4096))" 600,0
expect_status 0 atlock verify --against "$T/new.db"
expect_equal "$(last_line)" '140 records are the same, 0 differences'

# A file that is there stays, and nothing is left beside it.
before=$(sha256sum <"$T/new.db")
expect_status 1 atlock export --to "bolt:$T/new.db"
grep -q 'is there already' "$T/err" || fail "$(cat "$T/err")"
expect_equal "$(sha256sum <"$T/new.db")" "$before"
expect_status 66 atlock export --to "bolt:$T/none/new.db"
expect_equal "$(cd "$T" && ls -d new.db*)" new.db

# Keys of three parts; two projects of one directory have one such key, and no file is made that would lose one of them.
expect_status 0 atlock export --keys 4 --to "bolt:$T/four.db"
cmp "$T/new.db" "$T/four.db" || fail "--keys 4 differs"
expect_ok touch "$MNT/repos/a/b/-/c/-/d:e@pr:1" "$MNT/repos/a/b/-/c/-/d:f@pr:2"
expect_status 1 atlock export --keys 3 --to "bolt:$T/three.db"
grep -q 'two records have the key ' "$T/err" || fail "$(cat "$T/err")"
[ ! -e "$T/three.db" ] || fail "a file was made"
find "$MNT/repos" -type f | while read -r lock; do free_lock "$lock"; done
expect_ok touch "$MNT/repos/a/b/-/c/-/d:e@pr:1"
expect_status 0 atlock export --keys 3 --to "bolt:$T/three.db"
strings "$T/three.db" | grep 'a/b/c/d{' >/dev/null || fail "no key of three parts"
expect_status 0 atlock verify --against "$T/three.db"

# No records, and a tree of several levels with records larger than a page.
free_lock "$MNT/repos/a/b/-/c/-/d:e"
find "$MNT/pulls" -name projects.tsv | while read -r pull; do rmdir "${pull%/*}"; done
free_lock "$MNT/global/apply"
expect_status 0 atlock export --to "bolt:$T/empty.db"
expect_status 0 atlock verify --against "$T/empty.db"
expect_equal "$(last_line)" '0 records are the same, 0 differences'
long=$(printf '%06000d' 7)
for i in $(seq 1500); do
	printf '{"bucket":"runLocks","key":"","value":{"Project":{"RepoFullName":"acme/many","Path":"p%d"},"Pull":{"Num":%d,"Title":"%s"},"Workspace":"w","User":{"Username":"u"}}}\n' \
		"$i" "$i" "$([ $((i % 100)) -ne 0 ] || echo "$long")"
done >"$T/lines"
expect_status 0 atlock import "$T/lines"
expect_status 0 atlock export --to "bolt:$T/many.db"
expect_status 0 atlock verify --against "$T/many.db"
expect_equal "$(last_line)" '1500 records are the same, 0 differences'
