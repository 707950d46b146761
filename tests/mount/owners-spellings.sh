#!/bin/bash
# root
# owners/: every spelling of a URL leads to the same references; only the one spelling is listed, and what is listed resolves.
. "$(dirname "$0")/lib.sh"
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
