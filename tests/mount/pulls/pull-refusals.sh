#!/bin/bash
# root
# What is wrong is said and changes nothing; concurrent writers each have all or nothing.
. tests/mount/lib.sh
mount_fs

pr=$MNT/pulls/github.com/acme/infra/-/1
vpc=$pr/projects/vpc/-/default
expect_ok sh -c 'printf "head=aaa\nvpc\tdefault\t\tplanned\n" > "$1"' sh "$pr/projects.tsv"
before=$(cat "$pr/projects.tsv" "$pr/summary")

# A word that is none: the right ones are in `why`.
expect_fail 'Invalid argument' sh -c '/bin/echo Applied > "$1"' sh "$vpc"
expect_equal "$(cat "$MNT/why" | sed 's/ ([0-9]*s ago)//')" 'INVALID_REQUEST: "Applied" is no status: write one of plan_errored planned '\
'planned_no_changes apply_errored applied plan_discarded policy_check_errored policy_check_passed'
for word in '' plan 'planned applied' "$(printf '%050d' 0)" $'planned\nplanned'; do
	expect_fail 'Invalid argument' sh -c '/bin/echo "$2" > "$1"' sh "$vpc" "$word"
	expect_fail 'Invalid argument' sh -c '/bin/echo "$2" > "$1"' sh "$pr/projects/new/-/default" "$word"
done
! [ -e "$pr/projects/new/-/default" ] || fail "made by a word that is none"
expect_fail 'Invalid argument' touch "$pr/projects/new/-/default"
grep -q 'echo planned' "$MNT/why"

# One bad line, whichever it is, and none is taken.
refused() {
	expect_fail 'Invalid argument' sh -c 'printf "$2" | dd of="$1" bs=1M iflag=fullblock status=none' sh "$pr/projects.tsv" "$1"
	grep -q "$2" "$MNT/why" || fail "why: $(cat "$MNT/why")"
}
refused 'dns\tdefault\t\tplanned\nvpc\tdefault\t\tbad\n' 'line 2: "bad" is no status'
refused 'head=bbb\nvpc\tdefault\tplanned\n' 'line 2: not four or five columns'
refused 'head=bbb\nvpc\tdefault\t\tplanned\t[]\tmore\n' 'line 2: not four or five'
refused 'vpc\tdefault\t\tplanned\n/etc\tdefault\t\tplanned\n' 'line 2: '
refused 'vpc\tdefault\t\tplanned\na/../b\tdefault\t\tplanned\n' 'line 2: '
refused 'vpc\tdefault\t\tplanned\nvpc\t\t\tplanned\n' 'line 2: '
refused 'vpc\tdefault\t\tplanned\n100%%\tdefault\t\tplanned\n' 'line 2: .*%25'
refused 'vpc\tdefault\t\tplanned\ndns\tdefault\t\tplanned\nvpc\tdefault\t\tapplied\n' 'line 3: the same project as on line 1, .*vpc/-/default: name each once'
refused 'dns\tdefault\t\tplanned\nd%%6Es\tdefault\t\tplanned\n' 'line 2: the same project as on line 1'
refused 'head=\n' 'line 1: a head commit'
refused 'vpc\tdefault\t\tplanned\nhead=bbb\n' 'line 2: '
refused 'v\001pc\tdefault\t\tplanned\n' 'line 1: a control byte'
expect_fail 'Invalid argument' sh -c '/bin/echo "two words" > "$1"' sh "$pr/head"
expect_fail 'Invalid argument' sh -c '/bin/echo "1x=2" > "$1"' sh "$pr/meta"
expect_equal "$(cat "$pr/projects.tsv" "$pr/summary")" "$before"
expect_fail 'Operation not permitted' sh -c 'echo x > "$1"' sh "$pr/summary"
expect_fail 'Operation not permitted' ln -s x "$pr/locks/y"
expect_fail 'Operation not permitted' mv "$vpc" "$pr/projects/vpc/-/other"
expect_fail 'File exists' mkdir "$pr"
expect_ok mkdir -p "$pr"

# meta merges with >>, begins anew with >, and has no token in a URL whatever its key.
expect_ok sh -c 'echo state=open > "$1"; echo clone=https://x:TOKEN@h/r.git >> "$1"' sh "$pr/meta"
expect_equal "$(cat "$pr/meta")" $'state=open\nclone=https://h/r.git'
expect_ok sh -c 'echo owner=alice > "$1"' sh "$pr/meta"
expect_equal "$(cat "$pr/meta")" owner=alice
! grep -rqa TOKEN "$STORE" || fail "a token is in the store"

# A table longer than a block of stdio is one request still: its last line is bad, so nothing is there.
table() { for ((i = 0; i < 300; i++)); do printf 'modules/number-%d\tdefault\t\t%s\n' "$i" "$1"; done; }
expect_fail 'Invalid argument' sh -c '(cat "$2"; echo bad) | dd of="$1" bs=4096 iflag=fullblock status=none' sh "$pr/projects.tsv" <(table planned)
expect_equal "$(cat "$pr/projects.tsv")" $'head=aaa\nvpc\tdefault\t\tplanned'
table planned | dd of="$pr/projects.tsv" bs=4096 iflag=fullblock status=none
expect_equal "$(field "$pr/summary" planned)" 301

jobs=()
# Writers of the whole table at the same time: every reader sees one writer's, never a mixture.
for who in applied planned plan_errored; do
	table "$who" >"$T/$who"
	for ((i = 0; i < ${ROUNDS:-100} / 20 + 1; i++)); do cat "$T/$who" >"$pr/projects.tsv" || exit 1; done &
	jobs+=($!)
done
for ((i = 0; i < ${ROUNDS:-100} / 10; i++)); do
	expect_equal "$(cut -f 4 "$pr/projects.tsv" | tail -n +2 | head -n 300 | sort -u | wc -l)" 1 'words in one table'
done
for job in "${jobs[@]}"; do wait "$job"; done

# As other users: a user writes the status of a project whose lock he holds, and releases no other's locks by closing.
expect_ok as_user atlt1 touch "$MNT/repos/acme/infra/-/vpc/-/default@pr:1"
expect_ok as_user atlt2 touch "$MNT/repos/acme/infra/-/dns/-/default@pr:1"
expect_ok as_user atlt2 sh -c 'echo applied > "$1"' sh "$pr/projects/dns/-/default"
expect_fail 'Permission denied' as_user atlt2 rmdir "$pr"
expect_ok bash -c 'rm "$1"/{head,meta,projects.tsv}' - "$pr"
expect_fail 'Permission denied' as_user atlt2 rmdir "$pr"
as_user atlt2 grep -q 'root wrote about pulls/github.com/acme/infra/-/1: ' "$MNT/why"
expect_ok rmdir "$pr"
expect_ok as_user atlt1 touch "$MNT/repos/acme/infra/-/vpc/-/default@pr:1"
expect_ok as_user atlt2 touch "$MNT/repos/acme/infra/-/dns/-/default@pr:1"
expect_ok as_user atlt2 sh -c 'echo applied > "$1"' sh "$pr/projects/dns/-/default"
before=$(cat "$pr/projects.tsv" "$pr/summary")
expect_fail 'Operation not permitted' as_user atlt2 rmdir "$pr"
as_user atlt2 grep -q 'vpc/-/default is held by atlt1@pr:1 .* may close the pull request' "$MNT/why"
expect_fail 'Permission denied' as_user atlt2 rm -f "$(as_user atlt2 grep -l owner=atlt1 "$pr/locks"/*)"
expect_equal "$(cat "$pr/projects.tsv" "$pr/summary")" "$before" 'a refused rmdir'
expect_ok as_user atlt1 rm "$(grep -l owner=atlt1 "$pr/locks"/*)"
! [ -e "$MNT/repos/acme/infra/-/vpc/-/default" ] || fail "not released through its link"
expect_ok as_user atlt1 touch "$MNT/queue/repos/acme/infra/-/dns/-/default/low@pr:1"
expect_fail 'Operation not permitted' as_user atlt2 rmdir "$pr"
expect_ok as_user atlt1 sh -c 'rm "$1"/*' sh "$MNT/queue/repos/acme/infra/-/dns/-/default"
expect_ok as_user atlt2 rmdir "$pr"
! [ -e "$MNT/repos/acme/infra/-/dns/-/default" ] || fail "not released"
expect_ok as_user atlt1 touch "$MNT/repos/acme/infra/-/dns/-/default@pr:1"
expect_ok rmdir "$pr"
! [ -e "$MNT/repos/acme/infra/-/dns/-/default" ] || fail "not released by an administrator"

# rm -r, too.
expect_ok as_user atlt1 touch "$MNT/repos/acme/infra/-/vpc/-/default@pr:1"
expect_ok as_user atlt1 sh -c 'echo aaa > "$1/head"; echo planned > "$1/projects/vpc/-/default"' sh "$pr"
expect_ok as_user atlt1 rm -rf "$pr"
expect_equal "$(ls "$MNT/pulls")" ''
! [ -e "$MNT/repos/acme/infra/-/vpc/-/default" ] || fail "not released by rm -r"
