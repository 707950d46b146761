#!/bin/bash
# root
# What the tree holds already wins over an import, and is reported; verify lists what differs; others than administrators, a file
# in use, and a damaged file are told apart.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/import.inc"
mount_fs

mine=$MNT/repos/acme/infra/-/p00101/-/default
expect_ok touch "$mine@mine"
expect_ok touch "$MNT/custom/unrelated"
expect_status 1 atlock import -n "$SAMPLE"
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
expect_status 77 as_user atlt1 "$ATLOCK" -m "$MNT" import -n "$T/rights.jsonl"
grep -q '^would import 1 lock, 0 pull requests, 0 global locks; 0 were there already, 0 conflicts, 0 passed over$' "$T/out" ||
	fail "$(cat "$T/out")"
grep -q 'only administrators.*would be refused' "$T/err" || fail "$(cat "$T/err")"
expect_equal "$(grep -c '"refused".*config' "$MNT/events/live" || true)" 0
expect_status 0 atlock import -n "$T/rights.jsonl"
expect_ok sh -c 'echo atlt1 >"$1/config/admin_group"' - "$MNT"
expect_status 0 as_user atlt1 "$ATLOCK" -m "$MNT" import -n "$T/rights.jsonl"
expect_status 0 as_user atlt1 "$ATLOCK" -m "$MNT" import "$T/rights.jsonl"
grep -q '^imported 1 lock,' "$T/out" || fail "$(cat "$T/out")"
