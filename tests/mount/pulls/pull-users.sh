#!/bin/bash
# Option pull_users: for the users who run the automation of pull requests, @pr:N of a repository is one holder.
# root
. tests/mount/lib.sh
. tests/mount/import.inc

LOCK=repos/acme/infra/-/modules/vpc/-/prod

record() { # <pull number> <user>: a lock of Atlantis', as a line of an export
	jq -cn --argjson num "$1" --arg user "$2" '{bucket: "runLocks", key: "acme/infra/modules/vpc/prod/", value: {
		Project: {ProjectName: "", RepoFullName: "acme/infra", Path: "modules/vpc"}, Pull: {Num: $num, Author: $user},
		User: {Username: $user}, Workspace: "prod", Time: "2026-08-20T10:45:59Z"}}'
}

# The lock that was imported for alice goes on as the automation's, for each of its users, and for no other.
continued() {
	mount_fs -o 'pull_users=nobody-such @atlt2'
	record 7 alice | expect_ok atlock import -
	expect_equal "$(field "$MNT/$LOCK" owner)" alice

	expect_status 1 as_user atlt1 touch "$MNT/$LOCK@pr:7"
	expect_status 1 as_user atlt1 rm "$MNT/$LOCK@pr:7"
	expect_status 1 as_user atlt2 touch "$MNT/$LOCK@pr:8"
	expect_status 1 as_user atlt2 rm "$MNT/$LOCK"
	expect_equal "$(field "$MNT/$LOCK" owner)" alice

	# It is taken again, renewed, written to, and released as by its holder, not by force.
	expect_ok as_user atlt2 touch "$MNT/$LOCK@pr:7"
	expect_ok as_user atlt2 sh -c 'echo reason=apply >>"$1"' sh "$MNT/$LOCK@pr:7"
	expect_ok as_user atlt2 timeout 20 cat "$MNT/wait/$LOCK@pr:7"
	expect_equal "$(field "$MNT/$LOCK" owner)" alice
	expect_equal "$(field "$MNT/$LOCK" reason)" apply
	expect_ok as_user atlt2 rm "$MNT/$LOCK@pr:7"
	# Refusals are written a little later.
	expect_equal "$(jq -r 'select(.type != "refused") | .type' "$MNT/events/"*.jsonl | tail -n 1)" released

	# What two users of the list take is one holder's; a change of the list counts at once.
	echo 'atlt1,atlt2' >"$MNT/config/pull_users"
	expect_ok as_user atlt1 touch "$MNT/$LOCK@pr:9"
	expect_ok as_user atlt2 touch "$MNT/$LOCK@pr:9"
	echo atlt1 >"$MNT/config/pull_users"
	expect_status 1 as_user atlt2 touch "$MNT/$LOCK@pr:9"
	echo 'atlt1 atlt2' >"$MNT/config/pull_users"

	# Outside of repos/ the number says not of which repository.
	expect_ok as_user atlt1 touch "$MNT/custom/it@pr:9"
	expect_status 1 as_user atlt2 touch "$MNT/custom/it@pr:9"
	expect_status 1 as_user atlt2 rm "$MNT/custom/it@pr:9"
}

# Whoever of them closes a pull request releases what it holds.
closed() {
	mount_fs -o pull_users=atlt2
	record 7 alice | expect_ok atlock import -
	expect_status 1 as_user atlt1 rmdir "$MNT/pulls/github.com/acme/infra/-/7"
	expect_ok test -e "$MNT/$LOCK"
	expect_ok as_user atlt2 rmdir "$MNT/pulls/github.com/acme/infra/-/7"
	expect_status 1 test -e "$MNT/$LOCK"
}

# They write about every pull request, also one that another user wrote about first, who has no right to it any more then.
written() {
	mount_fs -o pull_users=atlt2
	local pull=$MNT/pulls/github.com/acme/infra/-/7
	expect_ok as_user atlt1 bash -c 'cd "$1"; echo fff >head; echo applied >projects/vpc/-/prod; echo a=1 >meta' - "$pull"
	expect_ok as_user atlt2 bash -c 'cd "$1"; echo abc >head; echo planned >projects/vpc/-/prod' - "$pull"
	expect_fail 'Permission denied' as_user atlt1 bash -c 'echo fff >"$1/head"' - "$pull"
	expect_fail 'Permission denied' as_user atlt1 bash -c 'echo applied >"$1/projects/vpc/-/prod"' - "$pull"
	expect_fail 'Permission denied' as_user atlt1 rmdir "$pull"
	expect_equal "$(cat "$pull/head" "$pull/projects/vpc/-/prod")" $'abc\nplanned'
	expect_ok as_user atlt1 touch "$MNT/repos/acme/infra/-/y/-/z@pr:7"
	expect_ok as_user atlt2 rmdir "$pull"
	! [ -e "$MNT/repos/acme/infra/-/y/-/z" ] || fail 'a lock that was made up kept the pull request open'
}

# The pull request of another host with the same repository and number is another one.
other_host() {
	mount_fs
	echo planned >"$MNT/pulls/github.com/acme/infra/-/7/projects/modules/vpc/-/prod"
	expect_ok touch "$MNT/$LOCK@pr:7"
	expect_fail 'No such file or directory' rmdir "$MNT/pulls/gitlab.example/acme/infra/-/7"
	grep -q 'close that one' "$MNT/why" || fail "$(cat "$MNT/why")"
	expect_ok test -e "$MNT/$LOCK"
	expect_ok rmdir "$MNT/pulls/github.com/acme/infra/-/7"
	[ ! -e "$MNT/$LOCK" ] || fail "still held"
	expect_ok touch "$MNT/$LOCK@pr:8"
	expect_ok rmdir "$MNT/pulls/gitlab.example/acme/infra/-/8"
	[ ! -e "$MNT/$LOCK" ] || fail "still held"
}

# Import gives locks to other users than Atlantis names, and says the same as before when it is compared or exported.
mapped() {
	mount_fs
	record 7 alice >"$T/lines"
	expect_ok atlock import --map alice=atlt1 --owner atlt2 "$T/lines"
	expect_equal "$(field "$MNT/$LOCK" owner)" atlt1
	expect_equal "$(field "$MNT/$LOCK" uid)" "$(id -u atlt1)"
	expect_status 0 atlock import --map alice=atlt1 --owner atlt2 "$T/lines"
	expect_equal "$(last_line)" \
		'imported 0 locks, 0 pull requests, 0 global locks; 1 was there already, 0 conflicts, 0 passed over'
	expect_status 0 atlock verify --against "$T/lines"
	expect_equal "$(atlock export | jq -r .value.User.Username)" alice
	expect_ok as_user atlt1 rm "$MNT/$LOCK@pr:7"

	# Only administrators take locks for others: oneself is no other.
	chmod 644 "$T/lines"
	expect_status 77 as_user atlt2 "$ATLOCK" -m "$MNT" import --owner atlt1 "$T/lines"
	expect_ok as_user atlt2 "$ATLOCK" -m "$MNT" import --owner atlt2 "$T/lines"
	expect_equal "$(field "$MNT/$LOCK" owner)" atlt2
	expect_status 64 atlock import --map alice "$T/lines"
}

behaviours continued closed written other_host mapped
