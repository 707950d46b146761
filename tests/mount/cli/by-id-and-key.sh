#!/bin/bash
# Locks by their id and by Atlantis' key; released and absent told apart from another's; changes that compare the version.
# root
. tests/mount/lib.sh
. tests/mount/import.inc

mount_fs

# show, renew, transfer and unlock act on the grant that an id or a key of Atlantis' stands for, under its holder's name.
names() {
	local lock=repos/runatlantis/atlantis/-/./-/default id
	expect_ok touch "$MNT/$lock@build-17"
	id=$(field "$MNT/$lock" id)
	for word in "$id" runatlantis/atlantis/./default runatlantis/atlantis/./default/; do
		expect_status 0 atlock show "$word"
		grep -qx "id=$id" "$T/out" || fail "$(cat "$T/out")"
		expect_status 0 atlock show --json "$word"
		expect_equal "$(jq -r .id "$T/out")" "$id"
		expect_status 0 atlock renew --ttl 10m "$word"
	done
	expect_equal "$(field "$MNT/$lock" ttl)" 10m
	expect_status 0 atlock transfer --to @build-18 "$id"
	expect_status 0 atlock transfer --to @build-19 runatlantis/atlantis/./default
	expect_equal "$(field "$MNT/$lock" who)" build-19
	expect_status 0 atlock unlock "$id"
	[ ! -e "$MNT/$lock" ] || fail "still held"
	expect_status 0 atlock unlock "$id"
	grep -q 'no lock has that id any more' "$T/err" || fail "$(cat "$T/err")"
	expect_status 1 atlock renew "$id"
	expect_status 1 atlock show "$id"

	# The whole key decides before its first parts; two that fit are named.
	expect_ok touch "$MNT/repos/a/b/-/c/-/d:e@1" "$MNT/repos/a/b/-/c/-/d:f@1"
	expect_status 0 atlock show a/b/c/d/e
	grep -qx 'lock=repos/a/b/-/c/-/d:e' "$T/out" || fail "$(cat "$T/out")"
	expect_status 1 atlock show a/b/c/d
	grep -q 'key of repos/a/b/-/c/-/d:e and of repos/a/b/-/c/-/d:f' "$T/err" || fail "$(cat "$T/err")"
	expect_status 1 atlock show a/b/c/d/
	expect_ok touch "$MNT/repos/a/b/-/c/-/d@1"
	expect_status 0 atlock unlock a/b/c/d
	expect_status 1 atlock unlock a/b/c/x
	grep -q 'no lock is held that Atlantis has this key for' "$T/err" || fail "$(cat "$T/err")"
	expect_status 0 atlock unlock a/b/c/d/e a/b/c/d/f
	expect_status 64 atlock unlock nonsense
}

# A lock that is not held is released already; another holder's is a conflict that names it.
released() {
	expect_status 0 atlock unlock custom/x
	grep -q 'custom/x: it was not held' "$T/err" || fail "$(cat "$T/err")"
	expect_status 0 atlock unlock custom/x@me
	expect_ok as_user atlt1 touch "$MNT/custom/x@job"
	for word in custom/x custom/x@me; do
		expect_status 1 atlock unlock "$word"
		grep -q 'custom/x is held by atlt1@job since 20' "$T/err" || fail "$(cat "$T/err")"
	done
	for json in '' --json; do
		expect_status 75 atlock show $json custom/x@me
		grep -q 'custom/x is held by atlt1@job' "$T/err" || fail "$(cat "$T/err")"
		expect_status 1 atlock show $json custom/free@me
		grep -q 'it is not held' "$T/err" || fail "$(cat "$T/err")"
		expect_status 0 atlock show $json custom/x@job
		expect_status 0 atlock show $json custom/x
	done
	expect_ok as_user atlt1 rm "$MNT/custom/x@job"
}

# if_version: the second of two who read the same version changes nothing.
versions() {
	local f=$MNT/custom/v@me version
	expect_ok touch "$f"
	version=$(field "$f" version)
	expect_ok sh -c 'printf "if_version=%s\nstep=1\n" "$2" >>"$1"' sh "$f" "$version"
	expect_errno EAGAIN open "$f" wronly,append + write "if_version=$version
step=2
ttl=9m
"
	grep -q '^VERSION_CONFLICT: .*is at version [0-9]*, not ' "$MNT/why" || fail "$(cat "$MNT/why")"
	expect_equal "$(field "$f" step) $(field "$f" ttl)" '1 30m'
	expect_status 1 atlock renew --ttl 9m --if-version "$version" custom/v@me
	version=$(field "$f" version)
	expect_status 0 atlock renew --if-version "$version" custom/v@me
	expect_equal "$(field "$f" version)" "$((version + 1))"
	expect_status 1 atlock transfer --to @other --if-version "$version" custom/v@me
	expect_status 0 atlock transfer --to @other --if-version "$((version + 1))" custom/v@me
	expect_errno EINVAL open "$MNT/custom/v@other" wronly,append + write 'if_version=x
'
	expect_errno EINVAL open "$MNT/wait/custom/free@me" wronly + write 'if_version=1
'
	expect_status 64 atlock renew --if-version seven custom/v
	grep -q "VERSION_CONFLICT.* 3$" "$MNT/metrics/atlockfs.prom" || fail "$(grep VERSION "$MNT/metrics/atlockfs.prom")"
}

behaviours names released versions
