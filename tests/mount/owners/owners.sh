#!/bin/bash
# owners/: who may do what in a repository.
# root
. tests/mount/lib.sh

# owners/: the first reference claims a URL for its user, others are refused and told who has it, the last one frees it.
owners() {
	mount_fs

	url=https://github.com/acme/infra.git
	one=$MNT/owners/$url/-
	why() { as_user "$1" cat "$MNT/why"; }

	# Claimed by the first reference; nothing has to be made before.
	expect_equal "$(find "$MNT/owners" -mindepth 1)" ''
	! [ -e "$one/owner" ] || fail "it has an owner already"
	expect_ok as_user atlt1 touch "$one/applications/web"
	expect_ok as_user atlt1 sh -c 'set -C; > "$1"' sh "$one/applications/api"
	expect_ok as_user atlt1 touch "$one/credentials/deploy-key"
	expect_equal "$(cut -d= -f1 "$one/owner" | xargs)" 'id url owner uid since applications credentials'
	expect_equal "$(grep -v '^since=\|^id=' "$one/owner" | xargs)" "url=github.com/acme/infra owner=atlt1 uid=$(id -u atlt1) applications=2 credentials=1"
	expect_equal "$(stat -c %U:%a "$one/owner")" atlt1:444
	expect_equal "$(date -u -d "@$(stat -c %Y "$one/owner")" +%FT%T)" "$(field "$one/owner" since | cut -d. -f1)"
	expect_equal "$(stat -c %s "$one/owner")" "$(wc -c <"$one/owner")"
	expect_equal "$(cut -d= -f1 "$one/applications/web" | xargs)" 'url type id owner uid since pid host'
	expect_equal "$(field "$one/applications/web" owner),$(field "$one/applications/web" id)" atlt1,web
	expect_equal "$(field "$one/credentials/deploy-key" type)" credentials
	expect_equal "$(stat -c %U "$one/applications/web")" atlt1
	expect_equal "$(stat -c %s "$one/applications/web")" "$(wc -c <"$one/applications/web")"

	# Again: fine, but not exclusively.
	expect_ok as_user atlt1 touch "$one/applications/web"
	expect_ok as_user atlt1 touch -c "$one/applications/web"
	expect_errno EEXIST open "$one/applications/web" wronly,creat,excl
	expect_equal "$(field "$one/owner" applications)" 2

	# Another user, root included, is refused and told.
	for user in atlt2 root; do
		for ref in applications/mine applications/web credentials/deploy-key; do
			expect_fail 'Operation not permitted' as_user $user touch "$one/$ref"
			grep -q '^PERMISSION_DENIED: owners/github.com/acme/infra belongs to atlt1 since ' <<<"$(why $user)" || fail "$(why $user)"
		done
	done
	expect_fail 'Operation not permitted' as_user atlt2 rm -f "$one/applications/web"
	grep -q 'belongs to atlt1' <<<"$(why atlt2)" || fail "$(why atlt2)"
	expect_fail 'Operation not permitted' as_user atlt2 touch -c "$one/applications/web"
	expect_ok as_user atlt2 cat "$one/applications/web" "$one/owner" >/dev/null
	! [ -e "$one/applications/mine" ] || fail "a refused reference is there"
	expect_equal "$(field "$one/owner" applications)" 2

	# Another URL is another matter.
	expect_ok as_user atlt2 touch "$MNT/owners/https://github.com:4443/acme/infra/-/applications/web"
	expect_ok as_user atlt2 touch "$MNT/owners/git@github.com:acme/other/-/applications/web"

	# What cannot be done says so.
	expect_fail 'Operation not permitted' as_user atlt1 bash -c 'echo x >> "$1"' sh "$one/applications/web"
	grep -q 'takes no text' <<<"$(why atlt1)" || fail "$(why atlt1)"
	expect_fail 'Operation not permitted' chmod 600 "$one/applications/web"
	expect_fail 'Operation not permitted' as_user atlt1 chown atlt2 "$one/applications/web"
	expect_fail 'Operation not permitted' rm "$one/owner"
	grep -q 'last reference' "$MNT/why" || fail "$(cat "$MNT/why")"
	expect_fail 'Operation not permitted' mv "$one/applications/web" "$one/applications/renamed"
	expect_fail 'Operation not permitted' sh -c 'echo x > "$1"' sh "$one/owner"
	expect_fail 'Is a directory' touch -c "$MNT/owners/$url"
	grep -q 'claimed by a reference' "$MNT/why" || fail "$(cat "$MNT/why")"
	expect_fail 'No such file' touch "$one/secrets/x"
	expect_fail 'File exists' mkdir "$one/applications"
	expect_fail 'Operation not permitted' mkdir "$one/applications/new"
	expect_fail 'Directory not empty' rmdir "$one/applications"
	expect_fail 'Invalid argument' touch "$one/applications/%41"

	# It survives a restart; the last reference frees it, whoever may remove it.
	remount_fs
	expect_equal "$(field "$one/owner" owner),$(field "$one/owner" applications)" atlt1,2
	expect_ok as_user atlt1 rm "$one/applications/web"
	expect_equal "$(ls "$one/applications")" api
	expect_ok rm "$one/credentials/deploy-key"
	expect_equal "$(ls "$one" | xargs)" 'applications owner'
	expect_ok as_user atlt1 rm "$one/applications/api"
	! [ -e "$one/owner" ] || fail "still owned"
	expect_equal "$(ls "$one")" ''
	expect_ok rmdir "$one/applications"
	expect_ok as_user atlt2 touch "$one/applications/web"
	expect_equal "$(field "$one/owner" owner)" atlt2

	# rm -rf by an administrator frees what is below.
	expect_ok rm -rf "$MNT/owners/github.com" "$MNT/owners/github.com:4443"
	expect_equal "$(find "$MNT/owners" -mindepth 1)" ''
	expect_equal "$(field "$MNT/health" owners_swept)" 0 'swept'
}

# 32 users, each with a spelling of his own, claim one URL at the same time: one has it, 31 are told who, in each round.
race() {
	mount_fs

	users=32
	for round in 1 2 3; do
		mkfifo "$T/start"
		exec {start}<>"$T/start"
		pids=()
		for ((i = 0; i < users; i++)); do
			case $((i % 4)) in
			0) url=https://github.com/acme/infra.git ;;
			1) url=git@github.com:acme/infra ;;
			2) url=ssh://git@GitHub.com:22/Acme/Infra ;;
			3) url=https://user$i:token@github.com/acme/infra ;;
			esac
			# Numbers that nobody has: such users are called by them.
			setpriv --reuid=$((70000 + i)) --regid=$((70000 + i)) --clear-groups sh -c '
			read -r _ <"$1"
			touch "$2/applications/app-$3" 2>/dev/null && echo "won" || grep -o "belongs to [^ ]*" "$4/why"
		' sh "$T/start" "$MNT/owners/$url/-" "$i" "$MNT" >"$T/result-$i" &
			pids+=($!)
		done
		for ((i = 0; i < users; i++)); do echo go; done >&"$start"
		wait "${pids[@]}" || true
		exec {start}>&-
		rm "$T/start"
		expect_equal "$(cat "$T"/result-* | grep -c '^won$')" 1 "round $round: $(cat "$T"/result-*)"
		winner=$(basename "$(grep -l '^won$' "$T"/result-*)")
		winner=${winner#result-}
		owner=$MNT/owners/github.com/acme/infra/-/owner
		expect_equal "$(field "$owner" owner),$(field "$owner" applications)" "uid:$((70000 + winner)),1"
		expect_equal "$(cat "$T"/result-* | grep -c "^belongs to uid:$((70000 + winner))$")" $((users - 1))
		expect_ok rm "$MNT/owners/github.com/acme/infra/-/applications/app-$winner"
		[ -z "$(ls "$MNT/owners")" ] || fail "not free after round $round"
	done
}

# A service claims for its users, known to this host or not: administrators, and the members of owners_group.
for_others() {
	mount_fs -o owners_group=atlt2,owners_interval=1s
	one=$MNT/owners/https://github.com/acme/infra/-
	expect_ok sh -c 'echo owner=alice >"$1"' sh "$one/applications/web"
	expect_equal "$(field "$one/owner" owner) $(field "$one/owner" uid) $(field "$one/applications/web" owner)" 'alice 65534 alice'
	[[ $(field "$one/owner" id) = owner_*_???????? ]] || fail "$(field "$one/owner" id)"
	expect_fail 'Operation not permitted' touch "$one/applications/mine"
	expect_ok as_user atlt2 sh -c 'echo owner=alice >"$1"' sh "$one/applications/api"
	expect_equal "$(field "$one/owner" applications)" 2
	expect_fail 'Operation not permitted' as_user atlt2 sh -c 'echo owner=bob >"$1"' sh "$one/applications/api"
	expect_fail 'Operation not permitted' as_user atlt1 sh -c 'echo owner=bob >"$1"' sh "$one/applications/other"
	[ ! -e "$one/applications/other" ] || fail "made for another"

	# chown, and what is given with all that refers to it; the new owner goes on.
	expect_ok chown atlt1 "$one/applications/web"
	expect_equal "$(field "$one/owner" owner) $(field "$one/applications/api" owner)" 'atlt1 atlt1'
	expect_ok as_user atlt1 touch "$one/credentials/key"
	expect_ok as_user atlt2 rm "$one/applications/web" "$one/applications/api"
	expect_ok as_user atlt1 rm "$one/credentials/key"
	[ ! -e "$one/owner" ] || fail "not freed"

	# A member claims for itself by touch, and gives what it claimed.
	expect_ok as_user atlt2 touch "$one/applications/web"
	expect_equal "$(field "$one/owner" owner)" atlt2
	expect_ok as_user atlt2 sh -c 'echo owner=atlt1 >>"$1"' sh "$one/applications/web"
	expect_equal "$(field "$one/owner" owner)" atlt1
	expect_errno EINVAL open "$MNT/owners/codecommit::us-east-1:/repo/-/applications/x" wronly,creat
	grep -q "helper of git's" "$MNT/why" || fail "$(cat "$MNT/why")"
}

behaviours owners for_others race
