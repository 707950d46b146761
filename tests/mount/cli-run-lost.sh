#!/bin/bash
# root
# atlock run renews its leases, notices when a lock is lost, and then does what --on-lost says.
. "$(dirname "$0")/lib.sh"
mount_fs -o max_ttl=1h,default_ttl=2s

lock=$MNT/custom/x
begin() {
	rm -f "$T/begun" "$T/go"
	"$ATLOCK" run -m "$MNT" -l custom/x "$@" -- sh -c ': >"$1/begun"; until [ -e "$1/go" ]; do sleep 0.1; done; exit 5' - "$T" \
		2>"$T/err" &
	front=$!
	wait_until '[ -e "$T/begun" ]'
}
ends_with() {
	local status=0
	wait "$front" || status=$?
	expect_equal "$status" "$1"
}

# A lease of two seconds lasts as long as the command does.
begin --ttl $((2 * TIME_FACTOR))s
token=$(field "$lock" token)
expect_equal "$(field "$lock" ttl)" $((2 * TIME_FACTOR))s
sleep $((4 * TIME_FACTOR))
expect_equal "$(field "$lock" token)" "$token"
touch "$T/go"
ends_with 5
[ ! -e "$lock" ] || fail "left behind"

# Kill: the whole group gets SIGTERM, and SIGKILL if it takes no notice. The status says that it was not done.
begin
expect_ok rm "$lock@$(field "$lock" who)"
ends_with 75
grep -q 'custom/x.* is lost: the command is told to end' "$T/err" || fail "$(cat "$T/err")"
cat >"$T/deaf" <<'END2'
trap '' TERM
echo $$ >"$1/command"
: >"$1/begun"
while :; do sleep 0.1; done
END2
rm "$T/begun"
"$ATLOCK" run -m "$MNT" -l custom/x -k 300ms -- sh "$T/deaf" "$T" 2>"$T/err" &
front=$!
wait_until '[ -e "$T/begun" ]'
expect_ok rm "$lock@$(field "$lock" who)"
ends_with 75
is_gone "$(cat "$T/command")" || fail "it lives"

# Given to somebody else is lost as well; warn goes on, and what another holds now is not given back.
begin --on-lost warn
expect_ok rm "$lock@$(field "$lock" who)"
expect_ok touch "$lock@other"
wait_until 'grep -q "goes on without it" "$T/err"' $((20 * TIME_FACTOR))
touch "$T/go"
ends_with 5
expect_equal "$(field "$lock" who)" other
expect_ok rm "$lock@other"

# A command of one's own.
begin --on-lost 'echo "$ATLOCK_LOST" >'"$T/lost"
expect_ok rm "$lock@$(field "$lock" who)"
wait_until '[ -s "$T/lost" ]' 20
grep -q '^custom/x@pid:' "$T/lost" || fail "$(cat "$T/lost")"
touch "$T/go"
ends_with 5

# A daemon that dies and comes back has it still.
begin
who=$(field "$lock" who)
kill_daemon
sleep 1.5
mount_fs
expect_equal "$(field "$lock" who)" "$who"
sleep 2.5
is_gone "$front" && fail "ended: $(cat "$T/err")"
touch "$T/go"
ends_with 5
[ ! -e "$lock" ] || fail "left behind"
