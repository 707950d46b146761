#!/bin/bash
# root
# A password in a URL leaves no trace: not in listings, contents, refusals and locks.jsonl, not in the store, and not in what
# the daemon says with -d.
. "$(dirname "$0")/lib.sh"
mount_fs -d

token=ghp_Zx81tokentoken
all() {
	local url=$1 user=$2 dir
	dir=$MNT/owners/$url/-
	as_user "$user" touch "$dir/applications/web" || true
	as_user "$user" ls -laR "$MNT/owners/$url/" || true
	as_user "$user" cat "$dir/applications/web" "$dir/owner" || true
	as_user "$user" stat "$dir/applications/web" >/dev/null || true
	as_user "$user" getfattr -d "$dir/applications/web" >/dev/null 2>&1 || true
	as_user "$user" sh -c 'echo x >> "$1"' sh "$dir/applications/web" || true
	as_user "$user" cat "$MNT/why"
	as_user "$user" touch "$dir/secrets" "$dir/applications/%41" || true
	as_user "$user" cat "$MNT/why"
	as_user "$user" mkdir "$MNT/owners/$url" "$dir/applications/dir" || true
	as_user "$user" mv "$dir/applications/web" "$dir/applications/api" || true
	as_user "$user" cat "$MNT/why"
	as_user "$user" flock -n "$MNT/owners/$url" true || true
	as_user "$user" cat "$MNT/why"
}
for url in "https://bot:$token@github.com/acme/infra.git" "https://$token@github.com/acme/infra" "bot:$token@github.com/acme/infra" \
	"ssh://git:$token@github.com:22/acme/infra" "https://bot:$token@github.com" "https://bot:$token@" \
	"https://bot:a/$token@github.com/acme/infra" "https://$token/a@github.com/b" "https://github.com/acme/infra?private_token=$token" \
	"https://bot:$token@ho st/a" "ftp://bot:$token@github.com/a" "https://bot:$token@github.com/a/../b%zz"; do
	for user in atlt1 atlt2; do
		# What the commands themselves say quotes what they were given.
		all "$url" "$user" 2>/dev/null | sed "s|$MNT/[^ ]*:\$||" >>"$T/out"
	done
done
find "$MNT/owners" >>"$T/out"
cat "$MNT/owners/github.com/acme/infra/-/owner" "$MNT/locks.jsonl" "$MNT/health" >>"$T/out"
grep -q owner=atlt1 "$T/out" || fail "nothing was made"
grep -q 'belongs to atlt1' "$T/out" || fail "nothing was refused"
for piece in "$token" tokentoken; do
	! grep -i "$piece" "$T/out" || fail "shown"
	! grep -ria "$piece" "$STORE" || fail "stored"
	! grep -i "$piece" "${T%/*}"/daemon*.log || fail "logged"
done
grep -q LOOKUP "${T%/*}"/daemon1.log || fail "the daemon says nothing with -d"
grep -rqa acme/infra "$STORE" || fail "the search of the store would find nothing"
unmount_fs
! grep -ria "$token" "$STORE" "${T%/*}"/daemon*.log || fail "left behind"
