#!/bin/bash
# Atlantis before 0.40 keeps a lock under "repository/directory/workspace", later ones add "/project": both are one lock here.
# root
# timeout: 120
. tests/mount/lib.sh
. tests/mount/import.inc
mount_fs
redis_start

record() { # <directory> <pull number>
	printf '{"Project":{"RepoFullName":"acme/infra","Path":"%s"},"Pull":{"Num":%d},"User":{"Username":"alice"},"Workspace":"default","Time":"2026-08-20T10:45:59Z"}' "$1" "$2"
}

keys() {
	redis --scan --pattern "$1" | LC_ALL=C sort | xargs
}

# What was imported from an old key is found again under it: nothing is doubled, and a release deletes it.
old_atlantis() {
	redis flushall >/dev/null
	redis set pr/acme/infra/./default "$(record . 5)" >/dev/null
	expect_status 0 atlock import "$URI"
	expect_equal "$(field "$MNT/repos/acme/infra/-/-/default" atlantis_key)" acme/infra/./default
	expect_status 0 atlock verify --against "$URI"
	expect_status 0 atlock mirror --once --to "$URI"
	expect_equal "$(keys 'pr/*')" pr/acme/infra/./default
	expect_status 0 atlock export --to "$URI"
	expect_equal "$(keys 'pr/*')" pr/acme/infra/./default

	# New locks get keys as those there have; --keys says otherwise.
	expect_ok touch "$MNT/repos/acme/infra/-/new/-/default@pr:6"
	expect_status 0 atlock mirror --once --to "$URI"
	expect_equal "$(keys 'pr/*')" 'pr/acme/infra/./default pr/acme/infra/new/default'
	expect_ok touch "$MNT/repos/acme/infra/-/four/-/default@pr:6"
	expect_status 0 atlock export --keys 4 --to "$URI"
	expect_equal "$(keys 'pr/acme/infra/four/*')" pr/acme/infra/four/default/
	expect_status 64 atlock export --keys 5

	# A lock that Atlantis gave to another pull request under the old key is a conflict, not a second lock.
	redis set pr/acme/infra/theirs/default "$(record theirs 9)" >/dev/null
	expect_ok touch "$MNT/repos/acme/infra/-/theirs/-/default@pr:7"
	expect_status 1 atlock mirror --once --one-way --to "$URI"
	expect_equal "$(redis get pr/acme/infra/theirs/default | jq .Pull.Num),$(redis exists pr/acme/infra/theirs/default/)" 9,0
	expect_status 1 atlock verify --against "$URI"
	grep -q '^differs repos/acme/infra/-/theirs/-/default: ' "$T/out" || fail "$(cat "$T/out")"

	# Released here, deleted there, under whichever key; and another import does not bring it back.
	"$ATLOCK" -m "$MNT" mirror --one-way --interval 50ms --to "$URI" >"$T/mirror.out" 2>"$T/mirror.err" &
	mirror=$!
	expect_ok touch "$MNT/repos/acme/infra/-/seen/-/default@pr:6"
	wait_until '[ -n "$(keys "pr/acme/infra/seen/*")" ]'
	free_lock "$MNT/repos/acme/infra/-/-/default"
	wait_until '[ -z "$(keys "pr/acme/infra/./*")" ]'
	kill -TERM "$mirror"
	wait "$mirror" || true
	free_lock "$MNT/repos/acme/infra/-/theirs/-/default"
	expect_status 0 atlock mirror --once --delete --to "$URI"
	expect_equal "$(keys 'pr/acme/infra/theirs/*')" ''
	for lock in new four seen; do free_lock "$MNT/repos/acme/infra/-/$lock/-/default"; done
}

# A file with both keys of one lock, as an upgrade leaves it, has one lock.
both() {
	redis flushall >/dev/null
	redis set pr/acme/infra/both/default "$(record both 5)" >/dev/null
	redis set pr/acme/infra/both/default/ "$(record both 5)" >/dev/null
	expect_status 0 atlock import "$URI"
	expect_equal "$(last_line)" \
		'imported 1 lock, 0 pull requests, 0 global locks; 1 was there already, 0 conflicts, 0 passed over'
	expect_status 0 atlock verify --against "$URI"
	expect_equal "$(last_line)" '1 record is the same, 0 differences'
	free_lock "$MNT/repos/acme/infra/-/both/-/default"
	expect_status 0 atlock mirror --once --delete --to "$URI"
	expect_equal "$(keys 'pr/*')" ''
	expect_equal "$(atlock export --keys 3 2>/dev/null | jq -r .key)" ''
}

behaviours old_atlantis both
