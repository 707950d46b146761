#!/bin/bash
# root
# A pull request's life as Atlantis has it, with coreutils: plan, status, apply, another commit, merge.
. "$(dirname "$0")/lib.sh"
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
