#!/bin/bash
# Tokens and spellings of owners/.
# root
. tests/mount/lib.sh

# A password in a URL leaves no trace: not in listings, contents, refusals and locks.jsonl, not in the store, and not in what
# the daemon says with -d.
token() {
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
}

# owners/: every spelling of a URL leads to the same references; only the one spelling is listed, and what is listed resolves.
spellings() {
	mount_fs

	owners=$MNT/owners
	spellings=(
		https://github.com/argoproj/test
		https:/github.com/argoproj/test
		https://GITHUB.com/argoproj/test.git
		git@GITHUB.com:argoproj/test
		git@github.com:argoproj/test.git
		ssh://git@GITHUB.com/argoproj/test
		ssh://git@github.com:22/argoproj/test.git/
		git://github.com/argoproj/test
		http://github.com:80/argoproj//test///
		github.com/argoproj/test
		$' https://github.com/argoproj/TEST \n'
		https://bot:s3cr3t@github.com/argoproj/test.git
		https://github.com/%61rgoproj/test
	)
	for made in "${spellings[@]}"; do
		expect_ok as_user atlt1 touch "$owners/$made/-/applications/web"
		for seen in "${spellings[@]}"; do
			expect_equal "$(field "$owners/$seen/-/applications/web" url)" github.com/argoproj/test "$seen"
			expect_equal "$(field "$owners/$seen/-/owner" applications)" 1 "$seen"
			expect_equal "$(ls "$owners/$seen/-/applications")" web "$seen"
		done
		expect_fail 'Operation not permitted' as_user atlt2 touch "$owners/$made/-/credentials/x"
		expect_equal "$(cd "$owners" && find . -type f | sort | xargs)" \
			'./github.com/argoproj/test/-/applications/web ./github.com/argoproj/test/-/owner'
		expect_ok as_user atlt1 rm "$owners/${spellings[RANDOM % ${#spellings[@]}]}/-/applications/web"
		[ -z "$(ls "$owners")" ] || fail "still there after $made"
	done

	# Those that are something else.
	expect_ok as_user atlt1 touch "$owners/https://github.com/test/-/applications/a"
	expect_ok as_user atlt2 touch "$owners/https://github.com:4443/TEST.git/-/applications/a"
	expect_ok as_user atlt1 touch "$owners/https://dev.azure.com/1234/myproj/_git/myrepo/-/applications/a"
	expect_fail 'Operation not permitted' as_user atlt2 touch "$owners/git@ssh.dev.azure.com:v3/1234/MyProj/myrepo/-/applications/b"
	expect_ok as_user atlt1 touch "$owners/git@gitlab.com:Group/sub/sub2/proj.git/-/applications/a"
	expect_ok as_user atlt1 touch "$owners/https://[2001:DB8::0:1]:8443/a/b/-/applications/a"
	expect_ok as_user atlt2 touch "$owners/https://host/my project/b/-/applications/a"
	expect_ok as_user atlt2 touch "$owners/https://gitlab.com/group/sub/-/applications/a"
	list=$(cd "$owners" && find . -name owner | LC_ALL=C sort)
	expect_equal "$list" './[2001:db8::1]:8443/a/b/-/owner
./dev.azure.com/1234/myproj/_git/myrepo/-/owner
./github.com/test/-/owner
./github.com:4443/test/-/owner
./gitlab.com/group/sub/-/owner
./gitlab.com/group/sub/sub2/proj/-/owner
./host/my%20project/b/-/owner'
	while read -r file; do
		expect_equal "./$(field "$owners/$file" url)/-/owner" "$file"
	done <<<"$list"
	expect_equal "$(ls "$owners/https://gitlab.com/group/sub" | xargs)" '- sub2'
	expect_equal "$(ls "$owners/https:" | wc -l)" "$(ls "$owners" | wc -l)"

	# What is no URL.
	for bad in https://github.com ftp://host/a file:///srv/a https://ho%73t/a 'https://host/a?x' https://host:0/a $'https://host/a\nb'; do
		expect_fail 'Invalid argument' touch "$owners/$bad/-/applications/a"
		grep -q '^INVALID_REQUEST: ' "$MNT/why" || fail "$bad: $(cat "$MNT/why")"
	done
	expect_fail 'Invalid argument' touch "$owners/-/applications/a"
}

behaviours token spellings
