#!/bin/bash
# events/: what happened, one file a day, JSON lines that jq, grep and an ordinary user can read; who did it and how.
# root
. "$(dirname "$0")/lib.sh"
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
before=$(md5sum <"$log")
size=$(stat -Lc %s "$log")
remount_fs
expect_equal "$(head -c "$size" "$log" | md5sum)" "$before"
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
