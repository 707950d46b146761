#!/bin/bash
# atlock serve: pages that are complete without a script, in which names and texts of users are text and nothing else.
. tests/mount/lib.sh
. tests/mount/serve.inc
mount_fs
me=$(id -un)
evil='<script>alert(1)</script>&"'\'
expect_ok touch "$MNT/custom/${evil//\//%2F}@x"
printf 'reason=%s\n' "$evil" >>"$MNT/custom/${evil//\//%2F}@x"
expect_ok touch "$MNT/custom/deploy@build-1" "$MNT/repos/acme/infra/-/modules/vpc/-/production@pr:7"
expect_ok touch "$MNT/queue/custom/deploy/high@build-2"
serve_start

# Text between tags, of a well-formed page.
page() {
	get "$1" >"$T/page" || fail "no answer to $1"
	xmllint --html --noout "$T/page" 2>"$T/lint" || fail "$1: $(cat "$T/lint")"
	! grep -q '<script>' "$T/page" || fail "$1 has a script of a user"
	xmllint --html --xpath 'string(//main)' "$T/page" 2>/dev/null >"$T/text"
}
shows() {
	grep -qF -- "$1" "$T/text" || fail "\"$1\" is not in $(cat "$T/text")"
}

page /
shows '3 held.'
shows "custom/${evil//\//%2F}"
shows "$evil"
shows "$me@build-1"
expect_equal "$(xmllint --html --xpath 'count(//tbody/tr)' "$T/page" 2>/dev/null)" 3
page '/?q=BUILD-1'
shows '1 held.'
page '/?pull=7'
shows 'repos/acme/infra/-/modules/vpc/-/production'
page '/?sort=-token'
expect_equal "$(xmllint --html --xpath 'string(//tbody/tr[1]/th)' "$T/page" 2>/dev/null)" repos/acme/infra/-/modules/vpc/-/production
expect_equal "$(xmllint --html --xpath 'string(//th[@aria-sort])' "$T/page" 2>/dev/null)" Token

page '/lock?name=custom/deploy'
shows "$me@build-2"
shows high
shows acquired
page '/lock?name=custom/none'
shows 'It is not held.'
page "/user?name=$me"
shows '3 held.'
page '/pull?repo=acme/infra&number=7'
shows '1 held.'
page '/pull?repo=acme/infra&number=8'
shows '0 held.'
page /graph
shows "$me@build-2 waits for custom/deploy"
get /graph.svg >"$T/svg"
expect_ok xmllint --noout "$T/svg"
page /status
shows 'State: ok'

# A part is what is in <main>.
get '/?part=1' >"$T/part"
! grep -q '<html' "$T/part" && grep -q '<h1>Locks</h1>' "$T/part" || fail "$(cat "$T/part")"

# What a browser is told, and how much of it there is.
get / -o /dev/null -D "$T/headers"
for header in "content-security-policy: default-src 'none'" 'x-content-type-options: nosniff' 'cache-control: no-store'; do
	grep -qi "^$header" "$T/headers" || fail "no $header in $(cat "$T/headers")"
done
! grep -qi '^content-security-policy.*unsafe' "$T/headers" || fail 'scripts in the page are allowed'
[ "$(cat <(get /page.css) <(get /page.js) <(get /) | wc -c)" -lt 61440 ] || fail 'the page is too large'
for path in /page.css /page.js /; do
	get "$path" >"$T/page"
	! grep -qE '(src|href)="?(https?:)?//' "$T/page" || fail "$path asks another host"
done

# Other names of this host, other methods, other addresses.
expect_equal "$(status / -H 'Host: evil.example')" 403
expect_equal "$(status / -H 'Host: localhost:1')" 200
expect_equal "$(status / -X DELETE)" 405
expect_equal "$(status /release -d lock=custom/deploy)" 403
expect_equal "$(status /nothing)" 404
expect_equal "$(status /../etc/passwd --path-as-is)" 404

# It shows what its user may read, not what root may.
if [ "$(id -u)" -eq 0 ]; then
	expect_ok mkdir -m 700 "$MNT/custom/closed"
	expect_ok touch "$MNT/custom/closed/secret@x"
	wait_until "has / '3 held.'"
	! has / secret || fail 'it shows a lock in a closed directory'
	expect_status 64 "$ATLOCK" serve -m "$MNT" --listen 127.0.0.1:0
fi
serve_stop

# Names for browsers, and where it listens.
serve_start --host locks.example
expect_equal "$(status / -H 'Host: locks.example')" 200
expect_status 69 "$ATLOCK" serve -m "$MNT" --listen "${URL#http://}" --user nobody
serve_stop
expect_status 64 "$ATLOCK" serve -m "$MNT" --listen 0.0.0.0:0 --user nobody
grep -q -- --allow-remote "$T/err" || fail "$(cat "$T/err")"
for where in nonsense 127.0.0.1:99999 :80 '[::1' localhost:80; do
	expect_status 64 "$ATLOCK" serve -m "$MNT" --listen "$where" --user nobody
done
