#!/bin/bash
# root
# atlock lock, unlock, renew, transfer, wait and force-unlock do what the tree does, and say why when they are refused.
. tests/mount/lib.sh
mount_fs -o max_ttl=1h

atlock() {
	local command=$1
	shift
	"$ATLOCK" "$command" -m "$MNT" "$@"
}
lock=repos/acme/infra/-/modules/vpc/-/production

# Wrong words.
for command in lock unlock renew transfer wait force-unlock show; do
	expect_status 64 atlock $command
	grep -q "try 'atlock $command --help'" "$T/err" || fail "$(cat "$T/err")"
done
expect_status 64 atlock lock repos/acme
expect_status 64 atlock lock nonsense
expect_status 64 atlock lock --ttl soon custom/x
expect_status 64 atlock lock "repos/a/-/%41/-/w"
grep -q 'spelled' "$T/err" || fail "$(cat "$T/err")"
expect_status 64 atlock transfer custom/x
expect_status 64 atlock transfer custom/x --to @
expect_status 64 atlock renew --ttl 1m --add 1m custom/x
expect_status 64 atlock wait custom/x custom/y

# lock: as this session, tokens in the order given; again is fine; options on either side.
expect_status 0 atlock lock "$MNT/$lock" custom/x --ttl 5m --reason 'a = b'
expect_equal "$(cat "$T/out")" "$(field "$MNT/$lock" token)
$(field "$MNT/custom/x" token)"
expect_equal "$(field "$MNT/$lock" ttl),$(field "$MNT/$lock" reason)" '5m,a = b'
expect_status 0 atlock lock "$lock" "$lock" custom/x "$MNT/$lock" custom/y
expect_equal "$(cat "$T/out")" "$(field "$MNT/$lock" token)
$(field "$MNT/custom/x" token)
$(field "$MNT/custom/y" token)" 'each once'
expect_ok rm "$MNT/custom/y"
expect_equal "$(ls "$MNT/repos/acme/infra/-/modules/vpc/-/")" production
(cd "$MNT/custom" && expect_status 0 "$ATLOCK" renew -m "$MNT" x --ttl 10m)
expect_equal "$(field "$MNT/custom/x" ttl)" 10m

# All or none; what one had before stays.
expect_ok touch "$MNT/global/plan@other"
expect_status 1 atlock lock custom/a custom/x global/plan
grep -q 'global/plan.*@other' "$T/err" || fail "$(cat "$T/err")"
[ ! -e "$MNT/custom/a" ] && [ -e "$MNT/custom/x" ] || fail "not none, or too few"
expect_status 75 atlock lock --wait 200ms custom/a global/plan
[ ! -e "$MNT/custom/a" ] || fail "left behind"

# renew.
before=$(field "$MNT/custom/x" expires_at)
sleep 0.1
expect_status 0 atlock renew custom/x
[ "$(field "$MNT/custom/x" expires_at)" \> "$before" ] || fail "not renewed"
expect_status 0 atlock renew --add 5m custom/x
expect_equal "$(field "$MNT/custom/x" ttl)" 15m
expect_status 1 atlock renew --ttl 3h custom/x
grep -q max_ttl "$T/err" || fail "$(cat "$T/err")"
expect_status 1 atlock renew global/plan
expect_status 1 atlock renew custom/nothing
grep -q 'it is not held' "$T/err" || fail "$(cat "$T/err")"

# unlock: only one's own, even for root; by who it compares.
expect_status 1 atlock unlock global/plan
[ -e "$MNT/global/plan" ] || fail "released another's"
expect_status 1 atlock unlock global/plan@somebody
expect_status 0 atlock unlock global/plan@other
expect_status 0 atlock unlock custom/x "$lock"
[ ! -e "$MNT/custom/x" ] && [ ! -e "$MNT/$lock" ] || fail "still held"
expect_status 0 atlock unlock custom/x
grep -q 'custom/x: it was not held' "$T/err" || fail "$(cat "$T/err")"

# --who.
expect_status 0 atlock lock --who build-17 custom/x
expect_equal "$(field "$MNT/custom/x" who)" build-17
expect_status 64 atlock lock --who build-17 custom/x@other

# transfer: within one's own names, to a user, and by root what is another's.
token=$(field "$MNT/custom/x" token)
expect_status 0 atlock transfer custom/x@build-17 --to @build-18
expect_equal "$(field "$MNT/custom/x" who),$(field "$MNT/custom/x" token)" "build-18,$token"
expect_status 0 atlock transfer --to atlt1@night custom/x@build-18
expect_equal "$(field "$MNT/custom/x" owner)@$(field "$MNT/custom/x" who)" atlt1@night
expect_status 1 as_user atlt2 "$ATLOCK" transfer -m "$MNT" --to atlt2 custom/x
expect_status 0 atlock transfer --to atlt2 custom/x
expect_equal "$(field "$MNT/custom/x" owner),$(field "$MNT/custom/x" token)" "atlt2,$token"

# force-unlock: an ordinary user only what is his, by path or id; root all.
expect_status 77 as_user atlt1 "$ATLOCK" force-unlock -m "$MNT" custom/x
[ -e "$MNT/custom/x" ] || fail "released another's"
id=$(field "$MNT/custom/x" id)
expect_status 0 atlock force-unlock "$id"
grep -q '^released custom/x, which atlt2@' "$T/out" || fail "$(cat "$T/out")"
[ ! -e "$MNT/custom/x" ] || fail "still held"
expect_status 1 atlock force-unlock "$id"
grep -q 'any more' "$T/err" || fail "$(cat "$T/err")"
expect_status 1 atlock force-unlock custom/x
expect_ok as_user atlt1 touch "$MNT/custom/x@build-1"
expect_status 0 as_user atlt1 "$ATLOCK" force-unlock -m "$MNT" "$(field "$MNT/custom/x" id)"
session_start a
expect_ok session a touch "$MNT/$lock"
expect_status 0 atlock force-unlock "$(field "$MNT/$lock" id)"
[ ! -e "$MNT/$lock" ] || fail "still held"
rounds=$((${ROUNDS:-1000} / 10))
# Nor is it there for any that looks by its plain name, which the kernel may have kept, at once.
for _ in $(seq "$rounds"); do
	expect_ok session a touch "$MNT/$lock"
	stat "$MNT/$lock" >/dev/null
	rm "$MNT/$lock@$(field "$MNT/$lock" who)"
	[ ! -e "$MNT/$lock" ] || fail "still held after rm of its holder's name"
	expect_ok session a touch "$MNT/$lock"
	rm "$MNT/$lock@$(field "$MNT/$lock" who)"
	[ ! -r "$MNT/$lock" ] || fail "still readable after rm of its holder's name"
done

expect_ok touch "$MNT/custom/p@pid:$$"
expect_status 0 in_session "$ATLOCK" force-unlock -m "$MNT" custom/p
expect_ok flock -o "$MNT/custom/p" setsid -w "$ATLOCK" force-unlock -m "$MNT" custom/p >"$T/out"
grep -q '^released custom/p, which root@flock:' "$T/out" || fail "$(cat "$T/out")"

# force-unlock compares: what passes on between two names is released under the one that is told, or stays.
cat >"$T/pass" <<'END'
while [ ! -e "$T/stop" ]; do
	echo who=two >>"$MNT/global/passed@one"
	echo who=one >>"$MNT/global/passed@two"
done
END
export MNT T
bash "$T/pass" 2>/dev/null &
passer=$!
for _ in $(seq "$rounds"); do
	while ! "$ATLOCK" force-unlock -m "$MNT" global/passed >>"$T/told" 2>"$T/err"; do
		grep -q 'does not hold it any more\|it is not held' "$T/err" || fail "$(cat "$T/err")"
	done
done
touch "$T/stop"
wait $passer || true
"$ATLOCK" audit show -m "$MNT" --lock global/passed --type forced --json >"$T/forced"
"$ATLOCK" audit show -m "$MNT" --lock global/passed --type released --json >>"$T/forced"
expect_equal "$(jq -r '.seq, .who' "$T/forced" | paste - - | sort -n | cut -f2)" "$(sed 's/.*root@\([a-z]*\) had.*/\1/' "$T/told")"

# wait: takes it; --free does not.
expect_ok touch "$MNT/custom/x@other"
expect_status 75 atlock wait --timeout 200ms custom/x
expect_equal "$(field "$MNT/custom/x" waiters)" 0
expect_status 75 atlock wait --free --timeout 300ms custom/x
atlock wait --priority high custom/x >"$T/waited" &
waiter=$!
atlock wait --free custom/x &
free=$!
wait_until '[ "$(field "$MNT/custom/x" waiters)" = 1 ]'
expect_ok rm "$MNT/custom/x@other"
expect_ok wait $waiter
expect_equal "$(field "$T/waited" token)" "$(field "$MNT/custom/x" token)"
expect_status 0 atlock unlock custom/x
expect_ok wait $free
