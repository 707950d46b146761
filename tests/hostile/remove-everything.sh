#!/bin/bash
# root
# rm -rf of the whole mount, by a user who owns nothing in it, leaves everything as it is.
. tests/mount/lib.sh
mount_fs -o allow_other
session_start held
owner() { session held as_user atlt1 "$@"; }

pull=pulls/github.com/acme/infra/-/5
expect_ok owner mkdir "$MNT/custom/empty" "$MNT/custom/empty/below" "$MNT/shared/db"
expect_ok owner mkdir -m 777 "$MNT/custom/open"
expect_ok owner touch "$MNT/custom/open/lock" "$MNT/custom/lock" "$MNT/repos/acme/infra/-/vpc/-/prod@pr:6" "$MNT/global/apply"
expect_ok owner touch "$MNT/queue/custom/lock/high@build-17" "$MNT/owners/https://github.com/acme/infra/-/applications/web"
expect_ok owner bash -c 'cd "$1"; echo DOWN >shared/db/apps/a; touch shared/db/stop@a' - "$MNT"
expect_ok owner bash -c 'cd "$1"; echo abc >head; echo planned >projects/vpc/-/prod; echo a=1 >meta' - "$MNT/$pull"
expect_ok owner bash -c 'cd "$1"; echo planned >projects/vpc/-/prod' - "$MNT/${pull%5}6"

everything() {
	(
		cd "$MNT" || exit
		find custom global owners pulls queue repos shared ! -name verdict ! -name summary -printf '%p %y %m %U\n' | sort
		cat custom/lock repos/acme/infra/-/vpc/-/prod global/apply shared/db/stop owners/github.com/acme/infra/-/owner
		cat "$pull"/{head,meta,projects.tsv} "${pull%5}6/projects.tsv"
	)
}
everything >"$T/before"
for target in '*' 'pulls/*' 'custom/*' 'shared/*/*'; do
	! as_user atlt2 bash -c "cd \"\$1\" && rm -rf $target" - "$MNT" 2>"$T/said" || fail "rm -rf $target succeeded"
	everything >"$T/after"
	diff "$T/before" "$T/after" || fail "rm -rf $target removed something: $(tail -n 3 "$T/said")"
done

# Nor does another user write over it, take parts of it away, or close it.
for attempt in 'echo applied >projects/vpc/-/prod' 'echo def >head' 'echo b=2 >>meta' 'rm projects/vpc/-/prod' 'rm head' 'rm meta' \
	'printf "vpc\tprod\t\tapplied\n" >projects.tsv' 'rm projects.tsv' 'rmdir ../5' 'echo planned >projects/dns/-/prod'; do
	expect_fail 'Permission denied' as_user atlt2 bash -c "cd \"\$1\"; $attempt" - "$MNT/$pull"
	as_user atlt2 cat "$MNT/why" >"$T/why"
	grep -qF 'atlt1 wrote about pulls/github.com/acme/infra/-/5' "$T/why" || fail "$attempt: $(cat "$T/why")"
done
everything >"$T/after"
diff "$T/before" "$T/after" || fail 'something was changed'

# A lock of another project of it, which every user can make up, gives no right to anything.
vpc=$MNT/$pull/projects/vpc/-/prod
for made_up in other/-/dns/-/prod infra/-/dns/-/prod infra/-/vpc/-/prod:x infra/-/y/-/z; do
	expect_ok as_user atlt2 touch "$MNT/repos/acme/$made_up@pr:5"
	for attempt in 'echo applied >projects/vpc/-/prod' 'echo def >head' 'rm projects/vpc/-/prod' 'rm projects.tsv' 'rmdir ../5' 'echo planned >projects/new/-/prod'; do
		expect_fail 'Permission denied' as_user atlt2 bash -c "cd \"\$1\"; $attempt" - "$MNT/$pull"
	done
done
# The project's own lock gives the right to its status, and to that only; what was written stays its writer's.
expect_ok as_user atlt2 touch "$MNT/repos/acme/infra/-/net/-/prod@pr:5"
expect_ok as_user atlt2 bash -c 'cd "$1"; echo planned >projects/net/-/prod' - "$MNT/$pull"
for attempt in 'echo applied >projects/vpc/-/prod' 'echo def >head' 'echo b=2 >>meta' 'rmdir ../5' 'printf "net\tprod\t\tapplied\nvpc\tprod\t\tapplied\n" >projects.tsv'; do
	expect_fail 'Permission denied' as_user atlt2 bash -c "cd \"\$1\"; $attempt" - "$MNT/$pull"
done
expect_ok as_user atlt2 rm "$MNT/repos/acme/infra/-/net/-/prod@pr:5"
expect_ok as_user atlt2 bash -c 'echo applied >"$1"' - "$MNT/$pull/projects/net/-/prod"
expect_ok owner bash -c 'echo planned >"$1"' - "$MNT/$pull/projects/net/-/prod"
expect_fail 'Permission denied' as_user atlt2 bash -c 'echo applied >"$1"' - "$MNT/$pull/projects/net/-/prod"

# Another's lock of the same number keeps its writer from closing in one step, but from nothing that is his own.
expect_ok owner touch "$MNT/repos/acme/infra/-/own/-/prod@pr:5"
expect_fail 'Operation not permitted' owner rmdir "$MNT/$pull"
owner grep -qF "rm -r of its directory removes what is yours" "$MNT/why"
expect_fail 'Permission denied' owner rm -rf "$MNT/$pull"
! [ -e "$MNT/repos/acme/infra/-/own/-/prod" ] || fail 'rm -r left his own lock'
expect_equal "$(cat "$MNT/$pull/projects.tsv" "$MNT/$pull/head" "$MNT/$pull/meta")" ''
expect_equal "$(cat "$MNT/repos/acme/infra/-/y/-/z" | sed -n 's/^owner=//p')" atlt2
expect_ok owner bash -c 'cd "$1"; echo abc >head; echo planned >projects/vpc/-/prod' - "$MNT/$pull"
as_user atlt2 find "$MNT/$pull/locks/" -type l -exec rm {} +

# A user who writes about a pull request first does not keep out the holder of a project's lock.
squat=${pull%5}7
expect_ok as_user atlt2 bash -c 'cd "$1"; echo fff >head; echo applied >projects/sub/-/prod' - "$MNT/$squat"
expect_fail 'Permission denied' owner bash -c 'echo planned >"$1"' - "$MNT/$squat/projects/sub/-/prod"
expect_ok owner touch "$MNT/repos/acme/infra/-/sub/-/prod@pr:7"
expect_ok owner bash -c 'cd "$1"; rm projects/sub/-/prod; echo planned >projects/sub/-/prod' - "$MNT/$squat"
expect_equal "$(cat "$MNT/$squat/projects/sub/-/prod")" planned
expect_fail 'Permission denied' owner rmdir "$MNT/$squat"
owner grep -qF "rm pulls/github.com/acme/infra/-/7/locks/*" "$MNT/why"
expect_ok owner bash -c 'rm "$1"/locks/*' - "$MNT/$squat"
! [ -e "$MNT/repos/acme/infra/-/sub/-/prod" ] || fail 'not released through its link'
expect_ok rmdir "$MNT/$squat"

# Administrators may, and what they set right stays the other's.
expect_ok bash -c 'echo planned >"$1"' - "$MNT/$pull/projects/vpc/-/prod"
expect_ok owner bash -c 'echo applied >"$1"' - "$vpc"
expect_ok owner rmdir "$MNT/$pull"
expect_ok rmdir "$MNT/${pull%5}6"
expect_equal "$(ls "$MNT/pulls")" ''
