#!/bin/bash
# `ls` of a queue is the order of service: higher priorities first, first come first served within one.
. tests/mount/lib.sh
mount_fs

lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
queue=$MNT/queue/repos/acme/infra/-/modules/vpc/-/production
expect_ok touch "$lock@first"
for ticket in low@l1 normal@n1 high@h1 critical@c1 normal@n2 low@l2 critical@c2 high@h2; do
	expect_ok touch "$queue/$ticket"
done
order='c1 c2 h1 h2 n1 n2 l1 l2'
# shellcheck disable=SC2012 # the order of ls is what this is about
expect_equal "$(ls "$queue" | sed 's/.*@//' | xargs)" "$order"
expect_equal "$(field "$lock" waiters)" 8
expect_equal "$(find "$MNT/queue" -type f | wc -l)" 8

# Another lock's queue is another matter.
expect_ok touch "$MNT/repos/acme/infra/-/modules/vpc/-/staging@other"
expect_ok rm "$MNT/repos/acme/infra/-/modules/vpc/-/staging@other"

holder=first
for next in $order; do
	expect_ok rm "$lock@$holder"
	expect_equal "$(field "$lock" who)" "$next"
	expect_equal "$(field "$lock" state)" pending
	[ ! -e "$queue/high@$next" ] || fail "the ticket of $next outlived the grant"
	expect_ok touch -c "$lock@$next"
	expect_equal "$(field "$lock" state)" acquired
	holder=$next
done
expect_equal "$(ls "$queue")" ''
expect_ok rm "$lock@$holder"
[ ! -e "$lock" ] || fail "held by nobody and still there"
