#!/bin/bash
# atlock import.
# root
. tests/mount/lib.sh
. tests/mount/import.inc

# A Bolt file that Atlantis left is taken over: every lock, pull request and global lock, once, without tokens, with nothing lost
# on the way back.
sample() {
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
	expect_status 0 atlock export --format atlantis --keys 4
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
}

# What the tree holds already wins over an import, and is reported; verify lists what differs; others than administrators, a file
# in use, and a damaged file are told apart.
conflicts() {
	mount_fs

	mine=$MNT/repos/acme/infra/-/p00101/-/default
	expect_ok touch "$mine@mine"
	expect_ok touch "$MNT/custom/unrelated"
	expect_status 1 atlock import --dry-run "$SAMPLE"
	grep -q "^conflict repos/acme/infra/-/p00101/-/default: is held by root@mine, and would be " "$T/out" ||
		fail "$(grep conflict "$T/out")"
	expect_status 1 atlock import "$SAMPLE"
	expect_equal "$(last_line)" \
		'imported 118 locks, 20 pull requests, 1 global lock; 0 were there already, 1 conflict, 0 passed over'
	expect_equal "$(field "$mine" who)" mine

	# Differences, each once.
	echo applied >"$MNT/pulls/github.com/acme/app-infra/-/3/projects/modules/vpc/q3/-/staging:p.1~x"
	free_lock "$MNT/global/apply"
	expect_ok touch "$MNT/repos/acme/infra/-/new/-/default@pr:9"
	expect_status 1 atlock verify --against "$SAMPLE"
	grep -q '^only there global/apply$' "$T/out" || fail "$(cat "$T/out")"
	grep -q '^only here repos/acme/infra/-/new/-/default$' "$T/out" || fail "$(cat "$T/out")"
	grep -q '^differs pulls/github.com/acme/app-infra/-/3: Projects' "$T/out" || fail "$(cat "$T/out")"
	grep -q '^differs repos/acme/infra/-/p00101/-/default: ' "$T/out" || fail "$(cat "$T/out")"
	expect_equal "$(last_line)" '137 records are the same, 4 differences'

	# A lock that was never Atlantis' has a record, too; one of custom/ has none.
	expect_status 0 atlock export
	jq -es 'any(.key == "acme/infra/new/default/" and .value.Pull.Num == 9 and .value.User.Username == "root")' "$T/out" \
		>/dev/null || fail "no record for a lock taken here"
	grep -q '2 that Atlantis has no form for' "$T/err" || fail "$(cat "$T/err")"

	# A lock handed over is told as it is.
	expect_ok sh -c 'echo owner=atlt1 >> "$1"' sh "$MNT/repos/acme/infra/-/new/-/default@pr:9"
	atlock export 2>/dev/null | jq -es 'any(.key == "acme/infra/new/default/" and .value.User.Username == "atlt1")' >/dev/null ||
		fail "not the new owner"

	# Who may not.
	expect_status 77 as_user atlt1 "$ATLOCK" -m "$MNT" import "$DATA/atlantis-sample.jsonl" <"$DATA/atlantis-sample.jsonl"
	expect_status 66 atlock import "$T/none"
	expect_status 64 atlock import
	expect_status 64 atlock import a b
	cp "$SAMPLE" "$T/copy.db"
	flock "$T/copy.db" "$ATLOCK" -m "$MNT" import "$T/copy.db" >/dev/null 2>"$T/err" && fail "a file in use was read"
	grep -q 'in use by a running Atlantis' "$T/err" || fail "$(cat "$T/err")"

	# Damaged files.
	for size in 0 1 80 4096 8192 100000 294912; do
		head -c "$size" "$SAMPLE" >"$T/cut.db"
		expect_status 65 atlock import "$T/cut.db"
		grep -q 'page [0-9]' "$T/err" || fail "cut at $size: $(cat "$T/err")"
	done
	printf '\377' | dd of="$T/copy.db" bs=1 seek=20 conv=notrunc 2>/dev/null
	expect_status 65 atlock import "$T/copy.db"
	grep -q 'page 0: ' "$T/err" || fail "$(cat "$T/err")"

	# Records that cannot be moved are named and passed over.
	cat >"$T/odd.jsonl" <<'END'
{"bucket":"runLocks","key":"k","value":{"Project":{"RepoFullName":"a/b","Path":"../x"},"Pull":{"Num":1},"Workspace":"w"}}
{"bucket":"runLocks","key":"k","value":{"Project":{"RepoFullName":"a/b","Path":"x"},"Workspace":"w"}}
{"bucket":"nope","key":"k","value":{}}
not json
{"bucket":"runLocks","key":"a/b/x/w","value":{"Project":{"RepoFullName":"a/b","Path":"x"},"Pull":{"Num":1},"Workspace":"w"}}
END
	expect_status 1 atlock import "$T/odd.jsonl"
	expect_equal "$(grep -c '^passed over line [1-4]: ' "$T/out")" 4
	expect_equal "$(field "$MNT/repos/a/b/-/x/-/w" owner)" atlantis

	# Who may not take locks for others is told so, and nothing is counted that was not done.
	cat >"$T/rights.jsonl" <<'END'
{"bucket":"runLocks","key":"c/d/x/w","value":{"Project":{"RepoFullName":"c/d","Path":"x"},"Pull":{"Num":1},"User":{"Username":"root"},"Workspace":"w"}}
END
	chmod a+r "$T/rights.jsonl"
	expect_status 77 as_user atlt1 "$ATLOCK" -m "$MNT" import "$T/rights.jsonl"
	grep -q '^imported 0 locks' "$T/out" || fail "$(cat "$T/out")"
	# A dry run says so as well, without being refused anything; and it knows administrators.
	expect_status 77 as_user atlt1 "$ATLOCK" -m "$MNT" import --dry-run "$T/rights.jsonl"
	grep -q '^would import 1 lock, 0 pull requests, 0 global locks; 0 were there already, 0 conflicts, 0 passed over$' "$T/out" ||
		fail "$(cat "$T/out")"
	grep -q 'only administrators.*would be refused' "$T/err" || fail "$(cat "$T/err")"
	expect_equal "$(grep -c '"refused".*config' "$MNT/events/live" || true)" 0
	expect_status 0 atlock import --dry-run "$T/rights.jsonl"
	expect_ok sh -c 'echo atlt1 >"$1/config/admin_group"' - "$MNT"
	expect_status 0 as_user atlt1 "$ATLOCK" -m "$MNT" import --dry-run "$T/rights.jsonl"
	expect_status 0 as_user atlt1 "$ATLOCK" -m "$MNT" import "$T/rights.jsonl"
	grep -q '^imported 1 lock,' "$T/out" || fail "$(cat "$T/out")"
}

# Atlantis' Redis is read and written: its own keys only, in its own form, and no password is ever shown.
with_redis() {
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
		'imported 119 locks, 20 pull requests, 1 global lock; 0 were there already, 0 conflicts, 0 passed over, 1 key of another program (unrelated)'
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
}

behaviours sample conflicts with_redis
