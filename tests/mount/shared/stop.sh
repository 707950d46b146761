#!/bin/bash
# stop@<app>: a lock whose condition is that every other app is down.
# timeout: 240
. tests/mount/lib.sh

# shared/<resource>/stop@<app> is a lock with a condition: every other app is DOWN. It has all that a lock has.
condition() {
	mount_fs

	cd "$MNT/shared"
	mkdir db
	echo UP >db/apps/a
	echo UP >db/apps/b
	expect_fail 'Device or resource busy' touch db/stop@a
	grep -q '^IN_USE: shared/db is in use: b is UP (said so 0s ago)' "$MNT/why" || fail "$(cat "$MNT/why")"
	expect_errno EBUSY open db/stop@a wronly,creat,excl
	expect_equal "$(head -n 1 db/verdict@a)" keep
	grep -qx 'blocks UP [0-9]s b' db/verdict@a
	grep -qx 'self UP [0-9]s a' db/verdict@a
	expect_fail 'No such file' cat db/stop
	expect_equal "$(ls db)" "$(printf 'apps\nverdict')"

	# What is not known counts as up.
	echo UNKNOWN >db/apps/b
	expect_fail 'Device or resource busy' touch db/stop@a
	echo DOWN >db/apps/b
	expect_equal "$(head -n 1 db/verdict@a)" stop
	expect_equal "$(head -n 1 db/verdict@b)" keep
	expect_equal "$(head -n 1 db/verdict)" keep

	# Who wants to must say so, and be an app.
	expect_fail 'Invalid argument' touch db/stop
	grep -q 'stop@<app>' "$MNT/why"
	expect_fail 'Invalid argument' touch db/stop@nobody
	grep -q 'create apps/nobody' "$MNT/why"
	expect_fail 'Invalid argument' touch "db/stop@pid:$$"
	expect_errno ENOENT stat db/verdict@nobody

	expect_errno ENOENT unlink db/stop@a
	expect_ok touch db/stop@a
	expect_equal "$(field db/stop type)" shared
	expect_equal "$(field db/stop who)" a
	expect_equal "$(field db/stop ttl)" 1m 'the lease'
	[ "$(field db/stop token)" -gt 0 ]
	expect_equal "$(getfattr -n user.who --only-values db/stop)" a
	expect_equal "$(ls db)" "$(printf 'apps\nstop\nverdict')"
	expect_equal "$(jq -r 'select(.lock == "shared/db/stop").who' "$MNT/locks.jsonl")" a
	expect_equal "$(head -n 1 db/verdict)" stop 'about the holder, while there is one'
	grep -q '^held until 20.* by .*@a$' db/verdict
	expect_ok bash -c 'echo reason=upgrade >>db/stop@a'
	expect_equal "$(field db/stop reason)" upgrade

	# Nobody else, not even b that is down, and nobody else gives it back.
	expect_errno EEXIST open db/stop@a wronly,creat,excl
	expect_errno EEXIST open db/stop@b wronly,creat,excl
	expect_fail 'Device or resource busy' touch db/stop@b
	expect_errno ENOENT unlink db/stop@b
	expect_fail 'Device or resource busy' rm db/apps/a
	expect_fail 'not empty' rmdir db
	[ -e db/stop@a ] && [ ! -e db/stop@b ]

	# Renewed while the condition is true, and not when it is not any more.
	before=$(field db/stop expires_at)
	expect_ok touch -c db/stop@a
	[ "$(field db/stop expires_at)" != "$before" ]
	echo UP >db/apps/b
	before=$(field db/stop expires_at)
	expect_fail 'Device or resource busy' touch -c db/stop@a
	expect_fail 'Device or resource busy' touch db/stop@a
	expect_fail 'Device or resource busy' touch -c -d '+10 minutes' db/stop@a
	expect_fail 'Device or resource busy' bash -c 'echo ttl=10m >>db/stop@a'
	expect_equal "$(field db/stop expires_at)" "$before"
	expect_equal "$(head -n 1 db/verdict)" keep
	grep -q '^blocks UP .* b$' db/verdict

	# The lease ends by itself: then it may be b's turn.
	expect_ok bash -c 'echo ttl=300ms >>db/stop@a'
	wait_until '[ ! -e db/stop ]'
	echo DOWN >db/apps/a
	expect_ok touch db/stop@b
	expect_ok rm db/stop@b
	expect_ok bash -c 'set -C; : >db/stop@b'
	expect_ok rm db/stop@b

	# No lock means no right to stop, whatever the verdict: it has to be taken.
	echo DOWN >db/apps/b
	expect_equal "$(head -n 1 db/verdict)" stop
	expect_errno ENOENT utimens db/stop@a now now
	[ ! -e db/stop@a ]

	# It survives a crash of the daemon, condition and all.
	cd /
	touch "$MNT/shared/db/stop@a"
	kill_daemon
	mount_fs
	[ -e "$MNT/shared/db/stop@a" ]
	expect_fail 'Device or resource busy' touch "$MNT/shared/db/stop@b"
	expect_ok touch "$MNT/shared/db/stop@a"
}

# Apps go down one after the other: only the last one may stop what they share; and an app that comes up again keeps it.
one_after_the_other() {
	mount_fs

	cd "$MNT/shared"
	mkdir db
	for app in a b c; do
		echo UP >"db/apps/$app"
	done
	for app in a b; do
		echo DOWN >"db/apps/$app"
		expect_fail 'Device or resource busy' touch "db/stop@$app"
	done
	grep -q 'c is UP' "$MNT/why"
	echo DOWN >db/apps/c
	expect_ok touch db/stop@c
	expect_equal "$(head -n 1 db/verdict)" stop

	# Whoever starts says UP first and then looks: it sees that the resource is being stopped, and the one that stops it sees
	# that somebody is there.
	echo UP >db/apps/a
	[ -e db/stop ]
	expect_equal "$(head -n 1 db/verdict@c)" keep
	expect_fail 'Device or resource busy' touch -c db/stop@c
	rm db/stop@c
	echo DOWN >db/apps/a

	# Then again, in another order.
	for app in c b; do
		echo UP >"db/apps/$app"
	done
	echo DOWN >db/apps/b
	expect_fail 'Device or resource busy' touch db/stop@b
	expect_fail 'Device or resource busy' touch db/stop@a
	# c is up itself, but the only one: it may.
	expect_ok touch db/stop@c
	rm db/stop@c

	# A new user of the resource counts from its registration.
	touch db/apps/d
	expect_fail 'Device or resource busy' touch db/stop@c
	rm db/apps/d
	expect_ok touch db/stop@c
	cd /
}

# Many apps go down at the same moment and each wants to stop what they share: exactly one of them does, and none while
# another is still up.
at_the_same_moment() {
	mount_fs

	apps=8
	rounds=$((${ROUNDS:-1000} / 200 + 1))
	cd "$MNT/shared"

	# Each says DOWN, then tries. Whoever wins looks at the others from inside.
	race() {
		local i pids=()
		rm -f "$T"/won.*
		for ((i = 0; i < $1; i++)); do
			bash -c 'echo DOWN >"db/apps/app-$1" && sleep "0.0$((RANDOM % 3))" && (set -C; : >"db/stop@app-$1") 2>/dev/null &&
			head -n 1 db/verdict >"$2/won.$1"' - "$i" "$T" &
			pids+=($!)
		done
		wait "${pids[@]}" || true
	}

	for ((round = 0; round < rounds; round++)); do
		mkdir db
		for ((i = 0; i < apps; i++)); do
			echo UP >"db/apps/app-$i"
		done
		# The last one stays up: nobody may.
		race $((apps - 1))
		[ -z "$(find "$T" -name 'won.*')" ] || fail "round $round: stopped while app-$((apps - 1)) is up"
		[ ! -e db/stop ]
		race "$apps"
		winners=$(find "$T" -name 'won.*' | wc -l)
		# None of those who tried early may have seen all down; then nobody stopped, which is safe.
		[ "$winners" -le 1 ] || fail "round $round: $winners winners"
		if [ "$winners" -eq 1 ]; then
			expect_equal "$(cat "$T"/won.*)" stop
			expect_equal "$(echo db/stop@app-* | wc -w)" 1
		else
			expect_ok touch db/stop@app-0
		fi
		rm "db/stop@$(field db/stop who)"
		rm -r db
	done
	cd /
}

# A condition is not waited for: queue/, wait/ and flock refuse the lock of a shared resource, at once and with a reason.
not_waited_for() {
	mount_fs

	cd "$MNT"
	mkdir shared/db
	touch shared/db/apps/a
	told() {
		grep -q "$1" why || fail "$(cat why)"
	}
	for held in '' yes; do
		[ -z "$held" ] || touch shared/db/stop@a
		expect_fail 'Invalid argument' timeout 5 cat wait/shared/db/stop@a
		told 'read its verdict'
		expect_fail 'Invalid argument' timeout 5 bash -c 'echo timeout=1s >wait/shared/db/stop@a'
		expect_fail 'Invalid argument' touch queue/shared/db/stop/high@a
		told 'read its verdict'
		expect_fail 'Invalid argument' timeout 5 flock shared/db/stop true
		told 'read its verdict'
		expect_fail 'Invalid argument' timeout 5 flock -n shared/db/stop true
		told 'stop@<app>'
	done
	expect_equal "$(find queue wait -mindepth 1)" ''
	expect_equal "$(field shared/db/stop waiters)" 0
	cd /
}

behaviours condition one_after_the_other at_the_same_moment not_waited_for
