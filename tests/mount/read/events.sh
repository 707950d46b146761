#!/bin/bash
# long
# events/: what happened.
. tests/mount/lib.sh

# events/: what happened, one file a day, JSON lines that jq, grep and an ordinary user can read; who did it and how.
lines_of_a_day() {
	needs_root
	mount_fs

	log=$MNT/events/live
	today=$(date -u +%F)
	expect_equal "$(ls "$MNT/events")" "$today.jsonl"$'\n'live
	expect_equal "$(readlink "$log")" "$today.jsonl"
	expect_equal "$(stat -c '%A %U' "$MNT/events/$today.jsonl")" '-r--r--r-- root'
	expect_equal "$(stat -c %s "$MNT/events/$today.jsonl")" "$(wc -c <"$log")" 'the size is exact'

	# Events of a type, each as these members say.
	seen() {
		local type=$1 members=$2
		jq -r "select(.type == \"$type\") | [$members] | map(tostring) | join(\" \")" "$log"
	}

	lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
	expect_ok as_user atlt1 touch "$lock@build-17"
	expect_equal "$(seen acquired '.lock, .owner, .who, .actor, .uid, .comm, .host, .session')" \
		"repos/acme/infra/-/modules/vpc/-/production atlt1 build-17 atlt1 $(id -u atlt1) touch $(hostname) $(ps -o sid= -p $$ | tr -d ' ')"
	token=$(field "$lock" token)
	acquired=$(field "$lock" acquired_at)
	id=$(field "$lock" id)
	expires=$(field "$lock" expires_at)
	printf 'password=swordfish\n' | as_user atlt1 tee -a "$lock@build-17" >/dev/null
	expect_equal "$(seen changed .comm)" tee
	expect_ok as_user atlt1 touch "$MNT/queue/repos/acme/infra/-/modules/vpc/-/production/low@build-18"
	expect_ok as_user atlt1 mv "$MNT/queue/repos/acme/infra/-/modules/vpc/-/production/low@build-18" \
		"$MNT/queue/repos/acme/infra/-/modules/vpc/-/production/high@build-18"
	expect_equal "$(seen queued '.who, .new')" 'build-18 low'
	expect_equal "$(seen reprioritised '.who, .old, .new, .comm')" 'build-18 low high mv'
	expect_ok as_user atlt1 rm "$lock@build-17"
	expect_equal "$(seen released '.token, .comm, .record.id, .record.acquired_at, .record.expires_at, .record.priority')" \
		"$token rm $id $acquired $expires normal"
	expect_equal "$(seen granted '.who, .actor')" 'build-18 atlt1'
	expect_ok rm "$lock@build-18"
	expect_equal "$(seen forced '.owner, .actor, .record.version')" 'atlt1 root 1'
	expect_ok as_user atlt1 touch "$lock@build-19"
	expect_ok chown atlt2 "$lock@build-19"
	expect_equal "$(seen transferred '.owner, .old, .actor, .comm')" 'atlt2 atlt1@build-19 root chown'
	echo ttl=100ms | as_user atlt2 tee "$lock" >/dev/null 2>&1 || true
	echo 3h >"$MNT/config/max_ttl"
	expect_equal "$(seen configured '.subject, .old, .new, .actor')" 'config/max_ttl 2h 3h root'
	expect_ok grep -q '"type":"opened"' "$log"
	expect_status 1 grep swordfish "$log"
	expect_equal "$(seen opened '.comm, .pid')" "atlockfs $DAEMON"

	# An ordinary user reads all of it, and nobody writes. What was refused above is noted a moment later.
	wait_until '[ "$(as_user atlt2 cat "$log" | md5sum)" = "$(md5sum <"$log")" ]'
	file=$MNT/events/$today.jsonl
	expect_fail 'Permission denied' as_user atlt2 rm "$file"
	for call in "rm -f $file" "rm -f $log" "truncate -s 0 $file" "touch $MNT/events/x" "mkdir $MNT/events/d" "mv $file $file.x"; do
		# shellcheck disable=SC2086
		expect_fail 'not permitted' $call
	done
	expect_fail 'not permitted' bash -c "echo x >> '$log'"
	expect_fail 'No such file' ls "$MNT/events/2001-01-01.jsonl"

	# Lines are whole and in order, and stay over a remount, which is in the log as well.
	# Refusals are written by a thread of their own: there may be more than was copied, but nothing else.
	cat "$log" >"$T/before"
	remount_fs
	expect_ok cmp -n "$(stat -c %s "$T/before")" "$T/before" "$log"
	expect_equal "$(tail -n +2 "$log" | jq -r .type | grep -c -e closed -e opened)" 2
	expect_equal "$(jq .seq "$log")" "$(seq "$(wc -l <"$log")")"

	# What a reader needs to check a line: the hash of it up to the hash, and the one before.
	prev=$(printf '0%.0s' {1..64})
	while IFS= read -r line; do
		body=${line%,\"hash\":*}
		hash=$(printf %s "$body" | sha256sum | cut -d' ' -f1)
		expect_equal "$(jq -r '.hash + .prev' <<<"$line")" "$hash$prev"
		prev=$hash
	done <"$log"
}

# At midnight (UTC) a new file begins, events/live leads to it, and whoever follows that with tail -F misses nothing.
midnight() {
	# The daemon's wall clock begins ten seconds before midnight; only the daemon's.
	faketime=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1)
	nm -D "$ATLOCKFS_BUILD/atlockfs" | grep -E '__(asan|tsan)_init' >/dev/null && skip 'a sanitizer must be loaded before anything else'
	export TZ=UTC
	LD_PRELOAD=$faketime FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME='@2031-05-31 23:59:50' mount_fs

	first=2031-05-31.jsonl
	second=2031-06-01.jsonl
	expect_equal "$(readlink "$MNT/events/live")" "$first"
	stdbuf -oL tail -n +1 -F -s 0.1 "$MNT/events/live" >"$T/followed" 2>/dev/null &
	follower=$!
	expect_ok touch "$MNT/global/before"
	wait_until '[ "$(readlink "$MNT/events/live")" = "$second" ]' 30
	expect_equal "$(ls "$MNT/events")" "$first"$'\n'"$second"$'\n'live
	expect_equal "$(stat -c %s "$MNT/events/$second")" 0
	expect_ok touch "$MNT/global/after"
	expect_equal "$(jq -r 'select(.type == "acquired") | .lock + " " + .time[:10]' "$MNT/events/$first")" 'global/before 2031-05-31'
	expect_equal "$(jq -r 'select(.type == "acquired") | .lock + " " + .time[:10]' "$MNT/events/$second")" 'global/after 2031-06-01'
	expect_equal "$(head -n 1 "$MNT/events/$second" | jq -r .prev)" "$(tail -n 1 "$MNT/events/$first" | jq -r .hash)" 'the chain goes on'
	expect_ok "$ATLOCK" -m "$MNT" audit verify >/dev/null
	wait_until 'cat "$MNT/events/$first" "$MNT/events/$second" | cmp -s - "$T/followed"' 20
	kill "$follower"
	wait "$follower" 2>/dev/null || true
}

# A refusal is an event with its code, who asked and for what; a flood of them is sampled, and all are counted.
refused() {
	needs_root
	mount_fs

	log=$MNT/events/live
	lock=$MNT/custom/db
	refused() { jq -r 'select(.type == "refused") | [.code, .lock // .subject, .call, .actor, .comm] | map(. // "-") | join(" ")' "$log"; }
	counted() { sed -n "s/^atlockfs_refusals_total{code=\"$1\"} //p" "$MNT/metrics/atlockfs.prom"; }

	expect_ok as_user atlt1 touch "$lock@build-17"
	expect_fail 'denied' as_user atlt2 touch "$lock@build-18"
	wait_until '[ -n "$(refused)" ]'
	expect_equal "$(refused | head -n 1 | cut -d' ' -f 1-2)" 'LOCK_EXISTS custom/db'
	expect_equal "$(refused | head -n 1 | cut -d' ' -f 4-)" 'atlt2 touch'
	expect_fail 'denied' as_user atlt2 rm -f "$lock"
	expect_fail 'not permitted' as_user atlt2 sh -c "echo 3h > '$MNT/config/max_ttl'"
	wait_until '[ "$(refused | grep -c PERMISSION_DENIED)" -ge 2 ]'
	refused | grep -E '^PERMISSION_DENIED config/max_ttl - atlt2 sh$' >/dev/null || fail "$(refused)"
	expect_fail 'nvalid' bash -c "echo ttl=soon > '$MNT/global/x'"
	wait_until 'refused | grep INVALID_REQUEST >/dev/null'

	# A flood: no more than asked for are written in a second, all are counted, and what was left out is told.
	echo 1 >"$MNT/config/events_refused"
	before=$(counted LOCK_EXISTS)
	lines=$(refused | grep -c LOCK_EXISTS)
	start=$SECONDS
	for _ in $(seq 200); do echo "$lock@build-19"; done | as_user atlt2 xargs touch 2>/dev/null || true
	[ $(($(counted LOCK_EXISTS) - before)) -ge 200 ] || fail "only $(($(counted LOCK_EXISTS) - before)) counted"
	sleep 1.1
	expect_fail 'denied' as_user atlt2 touch "$lock@build-19"
	wait_until '[ -n "$(jq "select(.skipped > 0)" "$log")" ]'
	written=$(($(refused | grep -c LOCK_EXISTS) - lines))
	[ "$written" -le $((SECONDS - start + 2)) ] || fail "$written written in $((SECONDS - start)) s"
	expect_ok "$ATLOCK" -m "$MNT" audit verify >/dev/null
	expect_equal "$("$ATLOCK" -m "$MNT" audit show --type refused --user atlt2 | cut -f 2 | sort | uniq | head -n 1)" 'refused LOCK_EXISTS'

	# What the file system decides by itself is about something, too: a lock, or the path of what is none. A name of owners/ may be a
	# password and is in no event.
	about() {
		local want=$1 key
		shift
		! as_user atlt2 bash -c "cd '$MNT'; $*" 2>/dev/null || fail "succeeded: $*"
		key=$([ "${want#lock }" = "$want" ] && echo subject || echo lock)
		wait_until "[ -n \"\$(jq -r --arg want '${want#* }' 'select(.type == \"refused\" and .$key == \$want) | .seq' '$log')\" ]"
	}
	echo 100 >"$MNT/config/events_refused"
	expect_ok mkdir "$MNT/custom/closed" "$MNT/shared/db"
	expect_ok as_user atlt2 touch "$MNT/queue/custom/db/low@q"
	about 'lock custom/closed/x' touch custom/closed/x
	about 'lock custom/db' touch queue/custom/db/urgent
	about 'lock custom/mine' 'touch custom/mine && mv custom/mine custom/other'
	about 'lock global/free' touch wait/global/free
	about 'lock global/y' 'exec 9<>global/y; flock -s 9'
	about 'subject foo' touch foo
	about 'subject custom/%41' touch custom/%41
	about 'subject custom/closed/d' mkdir custom/closed/d
	about 'subject queue/x' mkdir queue/x
	about 'subject wait/global' rmdir wait/global
	about 'subject shared/db/x' touch shared/db/x
	about 'subject by/x' touch by/x
	about 'subject events/live' rm events/live
	about 'subject pulls/github.com/a/b/-/1/x' touch pulls/github.com/a/b/-/1/x
	about 'subject owners' mkdir owners/bot:hunter2@github.com/a/b/-/applications/x
	! grep -q hunter2 "$log" || fail 'a password is in an event'
	expect_ok "$ATLOCK" -m "$MNT" audit show --type refused --lock config/max_ttl >/dev/null
}

behaviours lines_of_a_day midnight refused
