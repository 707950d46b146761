#!/bin/bash
# A bad line fails the whole write with EINVAL and changes nothing; why names the line; the lock stays held.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
expect_ok touch "$lock"
echo color=red >>"$lock"
before=$(cat "$lock")
refused() {
	local text=$1 line=$2
	for how in trunc append; do
		expect_errno EINVAL open "$lock" wronly,creat,$how + write "$text"
		expect_equal "$(cat "$lock")" "$before" "after $text"
		grep -q "^INVALID_REQUEST: line $line[: ]" "$MNT/why" || fail "$text: $(cat "$MNT/why")"
	done
}
refused $'ok=1\nbad key=2\n' 2
refused $'ok=1\nok2=1\n=nothing\n' 3
refused $'9lives=1\n' 1
refused $'a=1\nb=\x01\n' 2
refused $'a=1\nnote with \x1b[31m escape\n' 2
refused $'token=5\n' 1
refused $'a=1\nb=2\nid=x\n' 3
refused $'ttl=soon\n' 1
refused $'ttl=-5m\n' 1
refused $'ttl=0\n' 1
refused $'ttl=99999999999h\n' 1
refused $'x=1\nrenew=never\n' 2
refused $'priority=urgent\n' 1
refused $'pull=abc\n' 1
refused $'a=b\nwho=\n' 2
refused $'owner=\n' 1
refused "$(printf 'k%.0s' $(seq 65))=1" 1

# Not one line, but the request as a whole.
for text in $'ttl=10m\nrenew=1m\n' ttl=3h renew=3h; do
	expect_errno EINVAL open "$lock" wronly,append + write $'a=1\n'"$text"
	expect_equal "$(cat "$lock")" "$before" "after $text"
	grep -q '^INVALID_REQUEST: ' "$MNT/why" || fail "$(cat "$MNT/why")"
done

expect_fail 'Invalid argument' bash -c 'echo ttl=3h >> "$1"' sh "$lock"
expect_equal "$(cat "$lock")" "$before"

# Each write call stands alone: those before the bad one stay.
expect_fail 'Invalid argument' bash -c '{ echo good=1 && echo "bad key=1"; } >> "$1"' sh "$lock"
expect_equal "$(field "$lock" good)" 1
expect_equal "$(field "$lock" state)" acquired
expect_ok touch "$lock"
