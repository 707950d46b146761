#!/bin/bash
# 255 bytes a component, as everywhere; below repos/ all of a name together has a limit; below custom/ depth has none.
. "$(dirname "$0")/lib.sh"
mount_fs

long() { head -c "$1" /dev/zero | tr '\0' "${2:-x}"; }
for tree in custom global repos/acme/infra/-/modules/vpc/-; do
	expect_ok touch "$MNT/$tree/$(long 255)"
	expect_equal "$(ls "$MNT/$tree")" "$(long 255)"
	expect_ok rm "$MNT/$tree/$(long 255)"
	expect_errno ENAMETOOLONG open "$MNT/$tree/$(long 256)" wronly,creat
	expect_errno ENAMETOOLONG stat "$MNT/$tree/$(long 256)"
	expect_errno ENAMETOOLONG unlink "$MNT/$tree/$(long 256)"
	expect_errno ENAMETOOLONG open "$MNT/$tree/$(long 200)@$(long 56 w)" wronly,creat
done
expect_errno ENAMETOOLONG mkdir "$MNT/custom/$(long 256)"
expect_ok touch "$MNT/custom/$(long 190)@$(long 64 w)"
expect_equal "$(field "$MNT/custom/$(long 190)" who)" "$(long 64 w)"

# Characters of several bytes count as bytes.
expect_ok touch "$MNT/custom/$(printf 'ü%.0s' $(seq 127))"
expect_errno ENAMETOOLONG open "$MNT/custom/$(printf 'ü%.0s' $(seq 128))" wronly,creat

# One key of the store.
a=$(long 200 a) b=$(long 200 b)
expect_ok touch "$MNT/repos/$a/$b/-/d/-/w"
expect_errno ENAMETOOLONG open "$MNT/repos/$a/$b/-/$(long 200 d)/-/w" wronly,creat
touch "$MNT/repos/$a/$b/-/$(long 200 d)/-/w" 2>/dev/null || true
grep -q '^INVALID_REQUEST: ' "$MNT/why" || fail "$(cat "$MNT/why")"

# Deep in custom/, further than any path can be written.
cd "$MNT/custom"
for _ in $(seq 40); do
	mkdir "$(long 250 d)"
	cd "$(long 250 d)"
done
expect_ok touch bottom
expect_equal "$(ls)" bottom
expect_equal "$(field bottom owner)" "$(id -un)"
expect_fail 'Device or resource busy' in_session touch bottom
expect_equal "$(jq -r .lock "$MNT/locks.jsonl" | grep -c '^custom/-/d.*/bottom$')" 1 'locks.jsonl survives it'
expect_ok rm bottom
cd "$MNT/custom"
expect_ok rm -r "$(long 250 d)"
expect_equal "$(find . -type d)" .
cd /
