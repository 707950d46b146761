#!/bin/bash
# A realm is made by request alone, once, and shown; its address never has a password in it, and none of what is printed has.
. tests/mount/lib.sh
. tests/mount/import.inc

made_once() {
	redis_start
	local realm="redis://127.0.0.1:$PORT/0?realm=ci"
	expect_status 66 atlock realm show "$realm"
	grep 'atlock realm create' "$T/err" >/dev/null
	atlock realm create "$realm" >"$T/out"
	grep -F "atlockfs --store '$realm'" "$T/out" >/dev/null
	expect_status 1 atlock realm create "$realm"
	atlock realm show "$realm" >"$T/out"
	grep '^id  *[0-9a-f]\{32\}$' "$T/out" >/dev/null
	grep '^epoch  *1$' "$T/out" >/dev/null
	# Another name is another realm.
	expect_status 66 atlock realm show "redis://127.0.0.1:$PORT/0?realm=other"
}

passwords() {
	redis_start --requirepass s3cret
	local realm="redis://127.0.0.1:$PORT/0?realm=ci"
	expect_status 77 atlock realm create "$realm"
	(umask 077 && echo s3cret >"$T/password")
	atlock realm create "$realm&password_file=$T/password" >"$T/shown"
	ATLOCK_REDIS_PASSWORD=s3cret atlock realm show "$realm" >>"$T/shown"
	ATLOCK_REDIS_PASSWORD=wr0ng expect_status 77 atlock realm show "$realm"
	chmod 644 "$T/password"
	expect_status 77 atlock realm show "$realm&password_file=$T/password"
	grep 'chmod 600' "$T/err" >/dev/null
	expect_status 64 atlock realm show "redis://:s3cret@127.0.0.1:$PORT/0?realm=ci"
	cat "$T/err" >>"$T/shown"
	! grep s3cret "$T/shown" >/dev/null || fail 'a password was printed'
}

# A copy is one file; a realm is made of it where there is none.
copies() {
	redis_start
	local realm="redis://127.0.0.1:$PORT/0?realm=ci" other="redis://127.0.0.1:$PORT/1?realm=ci"
	expect_status 66 atlock backup --store "$realm" "$T/copy"
	[ ! -e "$T/copy" ] || fail 'a file was left'
	atlock realm create "$realm" >/dev/null
	expect_status 0 atlock backup --store "$realm" "$T/copy"
	expect_status 1 atlock backup --store "$realm" "$T/copy"
	expect_status 1 atlock restore --store "$realm" "$T/copy"
	expect_status 0 atlock restore --store "$other" "$T/copy"
	expect_equal "$(atlock realm show "$other" | grep ^id)" "$(atlock realm show "$realm" | grep ^id)"
	atlock realm show "$other" >"$T/shown"
	grep 'not open' "$T/shown" >/dev/null
	printf x >>"$T/copy"
	expect_status 65 atlock restore --store "redis://127.0.0.1:$PORT/2?realm=ci" "$T/copy"
	expect_status 66 atlock restore --store "redis://127.0.0.1:$PORT/2?realm=ci" "$T/none"
}

words() {
	expect_status 64 atlock realm make redis://127.0.0.1:1?realm=ci
	expect_status 64 atlock realm create redis://127.0.0.1:1
	expect_status 69 atlock realm create 'redis://127.0.0.1:1?realm=ci'
}

behaviours made_once passwords copies words
