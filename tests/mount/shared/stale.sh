#!/bin/bash
# What an app said last goes stale.
. tests/mount/lib.sh

# A status that is older than status_ttl reads UNKNOWN at that very call, and lets nobody stop.
stale() {
	mount_fs -o status_ttl=1s

	cd "$MNT/shared"
	mkdir db
	touch db/apps/a
	# Says DOWN for b and returns when that has just become too old; it is read until then, so that it may be cached.
	outlive() {
		echo DOWN >db/apps/b
		local end=$(($(date -d "$(stat -c %y db/apps/b)" +%s%3N) + 1000))
		while [ "$(date +%s%3N)" -le "$end" ]; do
			cat db/apps/b >/dev/null
			stat db/apps/b >/dev/null
		done
	}

	outlive && expect_equal "$(cat db/apps/b)" UNKNOWN
	expect_equal "$(getfattr -n user.status --only-values db/apps/b)" UNKNOWN
	expect_equal "$(getfattr -n user.said --only-values db/apps/b)" DOWN
	outlive && expect_equal "$(stat -c %s db/apps/b)" 8
	outlive && expect_fail 'Device or resource busy' touch db/stop@a
	grep -q 'b is UNKNOWN (said DOWN 1s ago)' "$MNT/why"
	outlive && grep -qx 'blocks UNKNOWN 1s b' db/verdict@a
	expect_equal "$(head -n 1 db/verdict@a)" keep

	# touch says again what the file reads: what is stale does not become DOWN by it.
	outlive && expect_ok touch db/apps/b
	expect_equal "$(cat db/apps/b)" UNKNOWN
	echo DOWN >db/apps/b
	for _ in $(seq 15); do
		sleep 0.1
		touch db/apps/b
	done
	expect_equal "$(cat db/apps/b)" DOWN

	# A status written again in time counts on; the right to stop ends with the lease if nobody does.
	expect_ok touch db/stop@a
	outlive
	expect_fail 'Device or resource busy' touch -c db/stop@a
	[ -e db/stop@a ]

	# Longer than the daemon was away.
	cd /
	echo DOWN >"$MNT/shared/db/apps/b"
	unmount_fs
	sleep 1.1
	mount_fs -o status_ttl=1s
	expect_equal "$(cat "$MNT/shared/db/apps/b")" UNKNOWN
}

# Apps are killed: what they said last goes stale and then counts as up; the right to stop that a killed one had ends with
# its lease, and not before.
apps_killed() {
	mount_fs -o status_ttl=2s,max_ttl=2s,default_ttl=2s

	export db=$MNT/shared/db
	mkdir "$db"
	touch "$db"/apps/keeper

	# An app says again and again that it is down, as one that is stopped by a supervisor would.
	bash -c 'while :; do echo DOWN >"$db"/apps/b; sleep 0.2; done' &
	b=$!
	wait_until '[ "$(cat "$db"/apps/b 2>/dev/null)" = DOWN ]'
	expect_ok touch "$db"/stop@keeper
	kill -KILL "$b"
	wait "$b" 2>/dev/null || true
	expect_equal "$(cat "$db"/apps/b)" DOWN 'fresh yet'
	expect_ok touch -c "$db"/stop@keeper
	wait_until '[ "$(cat "$db"/apps/b)" = UNKNOWN ]'
	! touch "$db"/stop@keeper 2>/dev/null || fail "renewed or taken while b is unknown"
	wait_until '[ ! -e "$db"/stop ]'
	expect_fail 'Device or resource busy' touch "$db"/stop@keeper

	# The one that holds the right is killed: nobody has it before its lease is over.
	bash -c 'while :; do echo DOWN >"$db"/apps/b; echo DOWN >"$db"/apps/keeper; sleep 0.2; done' &
	talk=$!
	wait_until 'touch "$db"/stop@keeper 2>/dev/null'
	bash -c 'while touch -c "$db"/stop@keeper; do sleep 0.2; done' &
	keeper=$!
	before=$(field "$db"/stop expires_at)
	wait_until '[ "$(field "$db"/stop expires_at)" != "$before" ]' # renewed
	kill -KILL "$keeper"
	wait "$keeper" 2>/dev/null || true
	end=$(date -d "$(field "$db"/stop expires_at)" +%s%3N)
	until touch "$db"/stop@b 2>/dev/null; do
		sleep 0.02
	done
	[ "$(date +%s%3N)" -ge "$end" ] || fail "b had it before the lease of the killed one was over"
	kill "$talk"
	wait "$talk" 2>/dev/null || true
}

behaviours stale apps_killed
