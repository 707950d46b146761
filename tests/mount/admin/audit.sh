#!/bin/bash
# atlock audit: the event log is verified, and archived.
# root
. tests/mount/lib.sh

# atlock audit: the log is verified on the mount, in copies and in the store, by anybody; whatever was done to it is found.
verify() {
	mount_fs

	lock=$MNT/custom/db
	for i in 1 2 3; do
		expect_ok as_user atlt1 touch "$lock@build-$i"
		expect_ok as_user atlt1 rm "$lock@build-$i"
	done
	expect_ok touch "$MNT/global/apply"
	audit() { "$ATLOCK" -m "$MNT" audit "$@"; }
	count=$(wc -l <"$MNT/events/live")

	expect_status 0 as_user atlt2 "$ATLOCK" -m "$MNT" audit verify
	expect_equal "$(head -n 1 "$T/out")" "events 1 to $count are as they were written; the last is"
	anchor=$(tail -n 1 "$T/out")
	expect_equal "$anchor" "$count:$(tail -n 1 "$MNT/events/live" | jq -r .hash)"
	expect_status 0 audit verify --anchor "$anchor"

	# Copies: each of these is found, and names the event.
	cp "$(readlink -f "$MNT/events/live")" "$T/good.jsonl"
	expect_status 0 audit verify "$T/good.jsonl"
	expect_status 0 audit verify - <"$T/good.jsonl"
	tampered() {
		local text=$1
		shift
		"$@" "$T/good.jsonl" >"$T/bad.jsonl"
		expect_status 1 audit verify --anchor "$anchor" "$T/bad.jsonl"
		grep -qF "$text" "$T/err" || fail "not \"$text\": $(cat "$T/err")"
	}
	tampered 'event 3 was changed' sed '3s/atlt1/atlt2/'
	tampered 'event 3 was changed' sed '3s/"pid":/"pid": /'
	tampered 'event 4 is missing' sed 4d
	tampered 'event 5 is out of order' awk '{ l[NR] = $0 } END { for (i = 1; i <= NR; i++) print l[i == 5 ? 6 : i == 6 ? 5 : i] }'
	tampered "event $count was cut off" head -c -20
	tampered "event $count is not there as it was" head -n -1
	tampered 'event 2 was changed' sed '2s/.*/{}/'
	expect_status 66 audit verify "$T/none.jsonl"
	expect_status 64 audit verify --anchor 12 "$T/good.jsonl"
	expect_status 64 audit verify --store "$STORE" "$T/good.jsonl"
	expect_status 64 audit
	expect_status 64 audit verfy

	# What is shown.
	expect_equal "$(audit show --lock custom/db --type released | cut -f 2-5 | sort -u | head -n 1)" $'released\tcustom/db\tatlt1@build-1\tatlt1'
	expect_equal "$(audit show --lock custom/ --type released | wc -l)" 3
	expect_equal "$(audit show --user root --type acquired | cut -f 3)" global/apply
	expect_equal "$(audit show --user atlt1 --json | jq -r .actor | sort -u)" atlt1
	expect_equal "$(audit show --since 1h | wc -l)" "$count"
	expect_equal "$(audit show --until 1h | wc -l)" 0
	expect_equal "$(audit show --since "$(date -u +%F)" --until "$(date -u +%Y)" | wc -l)" "$count"
	expect_equal "$(audit show --until 2001-01-01 | wc -l)" 0
	third=$(sed -n 3p "$T/good.jsonl" | jq -r .time)
	expect_equal "$(audit show --since "$third" --until "$third" --json "$T/good.jsonl" | grep -c '"seq":3,')" 1
	expect_status 64 audit show --since yesterday
	expect_status 64 audit show --type grabbed
	expect_status 65 audit show - <<<'no event'

	# In the store, once nobody has it mounted: what was changed there is found as well.
	unmount_fs
	expect_status 0 "$ATLOCK" audit verify --store "$STORE"
	cp "$STORE/data.mdb" "$T/data.mdb"
	LC_ALL=C sed -i 's/build-2/build-7/g' "$STORE/data.mdb"
	expect_status 1 "$ATLOCK" audit verify --store "$STORE"
	grep -q 'changed at event [0-9]' "$T/err" || fail "$(cat "$T/err")"
	cp "$T/data.mdb" "$STORE/data.mdb"
	mount_fs
	expect_status 0 audit verify --anchor "$anchor"
}

# atlock audit archive: whole days or all there is go into a file, mounted or not; the log then begins behind it, and both join.
archive() {
	mount_fs

	audit() { "$ATLOCK" -m "$MNT" audit "$@"; }
	today=$MNT/events/$(date -u +%F).jsonl
	expect_ok touch "$MNT/global/a@1" "$MNT/global/b@1"
	expect_equal "$(ls "$MNT/events")" "$(date -u +%F).jsonl"$'\n'live
	expect_equal "$(cat "$MNT/events/anchor")" ''
	cp "$today" "$T/whole"
	size=$(stat -c %s "$today")

	# There is nothing before today, and words that are wrong make no file.
	expect_status 66 audit archive --before today "$T/a"
	expect_status 66 audit archive --before 2001-01-01 "$T/a"
	expect_status 64 audit archive "$T/a"
	expect_status 64 audit archive --before yesterday "$T/a"
	expect_status 64 audit archive --before now
	[ ! -e "$T/a" ] || fail 'a file was left'
	expect_ok touch "$T/there"
	expect_status 1 audit archive --before now "$T/there"
	expect_equal "$(cat "$T/there")" ''

	# All there is: offsets stay, what is archived is one line that says so, the next event says so.
	expect_status 0 audit archive --before now "$T/first.jsonl"
	anchor=$(tail -n 1 "$T/out")
	expect_equal "$(head -n -1 "$T/first.jsonl" | cmp - "$T/whole")" ''
	expect_equal "$(tail -n 1 "$T/first.jsonl" | jq -r '"\(.first) \(.last) \(.events) \(.last):\(.hash)"')" "1 3 3 $anchor"
	expect_equal "$(head -c "$size" "$today" | wc -l)" 1
	head -c "$size" "$today" | jq -r .gone | grep events/anchor >/dev/null || fail "$(head -c 200 "$today")"
	expect_equal "$(tail -c +$((size + 1)) "$today" | jq -r '[.type, .subject, .new, .actor] | join(" ")')" "archived events/anchor $anchor root"
	expect_equal "$(cut -d' ' -f 1,2,4 "$MNT/events/anchor")" "$anchor archived root"
	expect_equal "$(ls "$MNT/events")" "$(date -u +%F).jsonl"$'\n'anchor$'\n'live
	expect_status 0 audit verify
	expect_equal "$(head -n 1 "$T/out")" "the log begins behind event $(cat "$MNT/events/anchor")"
	expect_status 0 audit verify "$T/first.jsonl" "$today"
	grep -q 'first.jsonl is an archive, as it was made: events 1 to 3; what follows joins it' "$T/out" || fail "$(cat "$T/out")"
	expect_equal "$(audit show --type acquired "$T/first.jsonl" | wc -l)" 2

	# What is left proves nothing by itself, unless it is known what was before it.
	expect_status 65 audit verify "$today"
	grep -q 'CUT in front of event 4' "$T/err" || fail "$(cat "$T/err")"
	expect_status 0 audit verify --anchor "$anchor" "$today"
	expect_status 1 audit verify --anchor "3:$(printf '0%.0s' {1..64})" "$today"

	# An archive that was changed is found, and the log lets go of nothing for a hash that is not its own.
	sed '$s/"events":3/"events":4/' "$T/first.jsonl" >"$T/bad"
	expect_status 1 audit verify "$T/bad"
	sed 2d "$T/first.jsonl" >"$T/bad"
	expect_status 1 audit verify "$T/bad"
	for wrong in "4:$(printf 'a%.0s' {1..64})" "999:$(printf 'a%.0s' {1..64})" "$anchor" 4 nonsense; do
		! echo "$wrong" 2>/dev/null >"$MNT/events/anchor" || fail "taken: $wrong"
	done
	expect_fail 'not permitted' as_user atlt1 bash -c "echo '$anchor' >'$MNT/events/anchor'"
	# The refusals may be in the log already, or not yet.
	expect_equal "$(grep '"seq"' "$today" | grep -vc '"type":"refused"')" 1

	# Not mounted; then once more by way of the mount, after a restart.
	unmount_fs
	expect_status 0 "$ATLOCK" audit archive --before now --store "$STORE" "$T/second.jsonl"
	expect_status 0 "$ATLOCK" audit verify --store "$STORE"
	grep -q '^the log begins behind event ' "$T/out" || fail "$(cat "$T/out")"
	mount_fs
	expect_ok rm "$MNT/global/a@1"
	expect_status 0 audit archive --before now "$T/third.jsonl"
	expect_status 0 audit verify "$T"/{third,first,second}.jsonl "$today"
	expect_equal "$(grep -c 'what follows joins it' "$T/out")" 3
	grep -q '^events 1 to ' "$T/out" || fail "$(cat "$T/out")"
	expect_ok "$ATLOCK" fsck "$STORE"
}

behaviours verify archive
