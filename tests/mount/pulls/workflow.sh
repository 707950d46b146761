#!/bin/bash
# pulls/: the locks of a pull request.
# root
. tests/mount/lib.sh

# @pr:123: every command of a pull request is the same holder, in any session, without a lease; another pull request is not.
pull_requests() {
	mount_fs

	vpc=$MNT/repos/acme/infra/-/modules/vpc/-/production
	dns=$MNT/repos/acme/infra/-/modules/dns/-/production
	expect_ok in_session touch "$vpc@pr:123"
	expect_equal "$(field "$vpc" who)" pr:123
	expect_equal "$(field "$vpc" ttl)" never
	expect_equal "$(field "$vpc" expires_at)" never
	expect_ok in_session touch "$vpc@pr:123"
	expect_ok in_session touch "$dns@pr:123"
	expect_equal "$(field "$vpc" ttl)" never 'ttl after a renewal'
	[ -e "$vpc@pr:123" ] || fail "not there"
	! [ -e "$vpc@pr:12" ] || fail "another number is there"
	expect_fail 'Device or resource busy' touch "$vpc@pr:124"
	expect_fail 'Permission denied' as_user atlt1 touch "$vpc@pr:123"
	expect_equal "$(field "$vpc" token) $(field "$dns" token)" '1 2'

	# It may be given a lease, and lets go like any other.
	expect_ok in_session sh -c 'echo ttl=1h >> "$1"' sh "$vpc@pr:123"
	expect_equal "$(field "$vpc" ttl)" 1h
	expect_ok in_session rm "$vpc@pr:123"
	! [ -e "$vpc" ] || fail "still there"
	[ -e "$dns@pr:123" ] || fail "the other lock went too"
	for bad in pr: pr:0 pr:01 pr:-1 pr:1.5 pr:x pr:99999999999999999999; do
		expect_errno EINVAL open "$vpc@$bad" wronly,creat
	done
}

# A pull request's life as Atlantis has it, with coreutils: plan, status, apply, another commit, merge.
workflow() {
	mount_fs

	pr=$MNT/pulls/github.com/acme/infra/-/123
	repo=$MNT/repos/acme/infra/-
	expect_equal "$(ls "$MNT/pulls")" ''
	expect_equal "$(ls "$pr")" $'head\nlocks\nmeta\nprojects\nprojects.tsv\nsummary'
	expect_equal "$(cat "$pr"/{head,meta,projects.tsv})" ''

	# Plan: the locks first, then what came of it. Nothing needs mkdir.
	expect_ok touch "$repo/modules/vpc/-/production@pr:123" "$repo/./-/default@pr:123"
	expect_ok sh -c 'echo 5ea1ab1e > "$1/head"' sh "$pr"
	expect_ok sh -c 'printf "url=https://bot:s3cret@github.com/acme/infra/pull/123\nauthor=alice\nstate=open\n" > "$1/meta"' sh "$pr"
	expect_ok sh -c 'printf ".\tdefault\t\tplanned\nmodules/vpc\tproduction\tvpc\tplan_errored\n" > "$1/projects.tsv"' sh "$pr"
	expect_equal "$(cat "$pr/head")" 5ea1ab1e
	expect_equal "$(cat "$pr/meta")" $'url=https://github.com/acme/infra/pull/123\nauthor=alice\nstate=open'
	expect_equal "$(cat "$pr/projects.tsv")" $'head=5ea1ab1e\n.\tdefault\t\tplanned\nmodules/vpc\tproduction\tvpc\tplan_errored'
	expect_equal "$(cat "$pr/projects/modules/vpc/-/production:vpc")" plan_errored
	expect_equal "$(cat "$pr/projects/./-/default")" planned
	expect_equal "$(cd "$pr/projects" && find . -type f | sort)" $'./-/default\n./modules/vpc/-/production:vpc'
	expect_equal "$(find "$MNT/pulls" -maxdepth 5 -mindepth 5 -type d)" "$pr"
	expect_equal "$(stat -c %s "$pr/projects.tsv")" "$(wc -c <"$pr/projects.tsv")"

	# What it holds: links that lead there.
	expect_equal "$(find "$pr/locks" -type l -printf '%l\n' | sort)" \
		$'../../../../../../../repos/acme/infra/-/-/default\n../../../../../../../repos/acme/infra/-/modules/vpc/-/production'
	for link in "$pr/locks"/*; do
		expect_equal "$(field "$link" pull)" 123
		expect_equal "$(field "$link" id)" "${link##*/}"
	done
	expect_equal "$(grep -v ^updated_at= "$pr/summary" | tr '\n' ' ')" "pull=123 host=github.com repo=acme/infra head=5ea1ab1e \
url=https://github.com/acme/infra/pull/123 locks=2 projects=2 plan_errored=1 planned=1 planned_no_changes=0 apply_errored=0 \
applied=0 plan_discarded=0 policy_check_errored=0 policy_check_passed=0 "

	# Each word, one project at a time; a new project by the first write.
	for word in plan_errored planned planned_no_changes apply_errored applied plan_discarded policy_check_errored policy_check_passed; do
		expect_ok sh -c 'echo "$2" > "$1/projects/modules/dns/-/default"' sh "$pr" "$word"
		expect_equal "$(cat "$pr/projects/modules/dns/-/default")" "$word"
	done
	expect_equal "$(field "$pr/summary" projects)" 3

	# The same head commit: what is not mentioned stays. A policy status is kept until another is given.
	expect_ok sh -c 'printf "head=5ea1ab1e\nmodules/vpc\tproduction\tvpc\tapplied\t[{\"Passed\":true}]\n" > "$1/projects.tsv"' sh "$pr"
	expect_ok sh -c 'echo applied > "$1/projects/./-/default"; echo apply_errored > "$1/projects/modules/vpc/-/production:vpc"' sh "$pr"
	expect_equal "$(cat "$pr/projects.tsv")" "head=5ea1ab1e
.	default		applied
modules/dns	default		policy_check_passed
modules/vpc	production	vpc	apply_errored	[{\"Passed\":true}]"
	# What was read can be written back.
	cat "$pr/projects.tsv" >"$T/projects.tsv"
	expect_ok cp "$T/projects.tsv" "$pr/projects.tsv"
	expect_equal "$(cat "$pr/projects.tsv")" "$(cat "$T/projects.tsv")"

	# Another head commit: only what is said about that. The locks stay.
	expect_ok sh -c 'printf "head=c0ffee\n.\tdefault\t\tplanned\n" > "$1/projects.tsv"' sh "$pr"
	expect_equal "$(cat "$pr/projects.tsv")" $'head=c0ffee\n.\tdefault\t\tplanned'
	expect_ok sh -c 'echo c0ffee > "$1/head"' sh "$pr"
	expect_equal "$(field "$pr/summary" planned)" 1 'statuses after the same head'
	expect_ok sh -c 'echo facade > "$1/head"' sh "$pr"
	expect_equal "$(cat "$pr/projects.tsv")" head=facade
	expect_equal "$(field "$pr/summary" locks)" 2
	expect_ok sh -c 'echo applied > "$1/projects/-/default"' sh "$pr"

	# A restart forgets nothing. Merged: everything goes at once, and what waits gets it.
	remount_fs
	expect_equal "$(cat "$pr/projects.tsv")" $'head=facade\n.\tdefault\t\tapplied'
	expect_ok touch "$MNT/queue/repos/acme/infra/-/-/default/normal@pr:9"
	expect_ok rmdir "$pr"
	expect_equal "$(field "$repo/-/default" who)" pr:9
	! [ -e "$repo/modules/vpc/-/production" ] || fail "not released"
	expect_equal "$(ls "$MNT/pulls")" ''
	expect_equal "$(cat "$pr"/{head,meta,projects.tsv})" ''
	expect_ok rmdir "$pr"
}

behaviours pull_requests workflow
