#!/bin/bash
# What scripts of other lock services write and read: seconds, priorities by number, a resource in parts.
. tests/mount/lib.sh
mount_fs

lock=$MNT/repos/acme/infra/-/vpc/-/prod:net
expect_ok touch "$lock@a"
expect_ok sh -c 'printf "ttl=60\\npriority=3\\n" >>"$1"' sh "$lock@a"
expect_equal "$(field "$lock" ttl) $(field "$lock" priority)" '1m critical'
expect_ok sh -c 'echo renew=30 >>"$1"' sh "$lock@a"
expect_equal "$(field "$lock" ttl)" 90s
expect_errno EINVAL open "$lock@a" wronly,append + write 'ttl=0
'
expect_errno EINVAL open "$lock@a" wronly,append + write 'priority=4
'

# What is written to the lock's file below wait/ by its holder counts, too.
expect_ok sh -c 'echo priority=low >"$1"' sh "$MNT/wait/repos/acme/infra/-/vpc/-/prod:net@a"
expect_equal "$(field "$lock" priority)" low
expect_ok touch "$MNT/queue/repos/acme/infra/-/vpc/-/prod:net/2@b"
expect_equal "$(ls "$MNT/queue/repos/acme/infra/-/vpc/-/prod:net" | cut -d- -f2)" high

expect_equal "$(jq -c 'select(.kind == "lock") | [.ttl_seconds, .resource]' "$MNT/locks.jsonl")" \
	'[90,{"type":"project","namespace":"acme/infra","name":"net","workspace":"prod","path":"vpc"}]'
left=$(jq 'select(.kind == "lock") | .expires_unix - now' "$MNT/locks.jsonl")
awk -v left="$left" 'BEGIN { exit !(left > 0 && left <= 91) }' || fail "$left s left"
expect_ok touch "$MNT/global/apply@x"
expect_equal "$(jq -c 'select(.lock == "global/apply") | [.ttl_seconds, .expires_unix, .resource.name, .resource.type]' "$MNT/locks.jsonl")" \
	'[null,null,"apply","global"]'
