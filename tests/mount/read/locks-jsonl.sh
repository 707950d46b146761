#!/bin/bash
# locks.jsonl: every held lock and every waiter.
. tests/mount/lib.sh
. tests/mount/populated.inc

# locks.jsonl: every held lock and every waiter, one JSON object a line, whatever is written in them.
every_line() {
	mount_populated
	all=$MNT/locks.jsonl
	expect_ok jq -e . "$all" >/dev/null
	expect_equal "$(wc -l <"$all")" 9
	expect_equal "$(jq -r 'select(.kind == "lock") | .lock' "$all" | sort)" "$(cd "$MNT" && find repos custom global -type f | sort)"
	expect_equal "$(jq -r 'select(.kind == "waiter") | [.lock, .who, .priority] | @tsv' "$all" | sort)" $'custom/nightly\tbuild-17\thigh\nglobal/apply\twaiter\tnormal'

	# The fields are those that cat prints.
	lock=$MNT/custom/team/db/backup
	for key in id state type owner who host priority acquired_at renewed_at expires_at ttl; do
		expect_equal "$(jq -r "select(.lock == \"custom/team/db/backup\") | .$key" "$all")" "$(field "$lock" "$key")" "$key"
	done
	for key in uid pid token version waiters; do
		expect_equal "$(jq "select(.lock == \"custom/team/db/backup\") | .$key" "$all")" "$(field "$lock" "$key")" "$key is a number"
	done
	expect_equal "$(jq -r 'select(.lock == "custom/team/db/backup") | .meta.reason' "$all")" 'needle in the haystack'
	expect_equal "$(jq -r 'select(.repo == "acme/infra" and .project == "web") | .dir + " " + .workspace' "$all")" '. default'

	# Quotes, backslashes, bytes that are no UTF-8, spelled control bytes.
	printf 'note="quoted" \\ back\\slash \xc3\xbc \xff\n' >"$MNT/custom/"$'odd "name" \\ \xff %0A'
	expect_ok jq -e . "$all" >/dev/null
	expect_ok python3 -c 'import json, sys
for line in open(sys.argv[1], encoding="utf-8", newline="\n"): json.loads(line)' "$all"
	expect_equal "$(jq -r 'select(.meta.note != null) | .meta.note' "$all" | head -c 21)" '"quoted" \ back\slash'

	# Read in small pieces, from the middle, and several times through one open file.
	expect_equal "$(dd if="$all" bs=100 status=none | md5sum)" "$(md5sum <"$all")"
	exec 5<"$all"
	expect_equal "$(head -c 50 <&5)" "$(head -c 50 "$all")"
	exec 5<&-

	# More than a page of them, and consistent while others come and go.
	mkdir "$MNT/custom/many"
	seq -f "$MNT/custom/many/%g" 2100 | xargs touch
	expect_equal "$(jq -r 'select(.kind == "lock") | .lock' "$all" | grep -c '^custom/many/')" 2100
	expect_equal "$(jq -r 'select(.kind == "lock") | .lock' "$all" | sort | uniq -d)" ''
	(while :; do touch "$MNT/global/flicker" && rm "$MNT/global/flicker"; done) 2>/dev/null &
	flicker=$!
	for _ in 1 2 3; do
		expect_equal "$(jq -r 'select(.kind == "lock") | .lock' "$all" | grep -c '^custom/many/')" 2100 'while others change'
	done
	kill -KILL "$flicker"
	wait "$flicker" 2>/dev/null || true
	rm -r "$MNT/custom/many"

	kill -KILL "$WAITER"
	wait "$WAITER" 2>/dev/null || true
	wait_until '[ "$(jq -s "map(select(.kind == \"waiter\")) | length" "$all")" = 1 ]'
}

# What others may not read in a lock they do not read in locks.jsonl either; that it is held they see.
private() {
	needs_root
	mount_fs

	as_user atlt1 sh -c 'umask 077; touch "$1" && echo secret=hunter2 >>"$1"' sh "$MNT/custom/private@a"
	as_user atlt1 sh -c 'touch "$1" && echo note=public >>"$1"' sh "$MNT/custom/open@a"
	meta() { as_user "$1" cat "$MNT/locks.jsonl" | jq -c --arg lock "custom/$2" 'select(.lock == $lock) | .meta'; }
	expect_equal "$(meta atlt2 private)" '{}'
	expect_equal "$(meta atlt2 open)" '{"note":"public"}'
	expect_equal "$(meta atlt1 private)" '{"secret":"hunter2"}'
	expect_equal "$(meta root private)" '{"secret":"hunter2"}'
}

behaviours every_line private
