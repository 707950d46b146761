#!/bin/bash
# atlock serve --allow-release: a button that acts as the user who asks, by id and token, for nobody else and never by accident.
# root
. tests/mount/lib.sh
. tests/mount/serve.inc
mount_fs
SERVE_LISTEN=unix:$T/socket
expect_ok as_user atlt1 touch "$MNT/custom/one@a"
expect_ok as_user atlt2 touch "$MNT/custom/two@b"

expect_status 64 "$ATLOCK" serve -m "$MNT" --listen 127.0.0.1:0 --user atlt1 --allow-release
serve_start --allow-release --proxy daemon
chmod 666 "$T/socket"
URL=http://localhost
ask() { # USER PATH [curl's options]
	setpriv --reuid="$1" --regid="$1" --clear-groups curl -sS --max-time 20 --unix-socket "$T/socket" "${@:3}" "http://localhost$2"
}
# A value of the form on a lock's page, as that user sees it.
form() {
	ask "$1" "/lock?name=$2" "${@:4}" | xmllint --html --xpath "string(//form//input[@name='$3']/@value)" - 2>/dev/null
}
release() { # USER LOCK ID TOKEN WORD [curl's options]
	ask "$1" /release -o /dev/null -w '%{http_code}' --data-urlencode "lock=$2" --data-urlencode "id=$3" \
		--data-urlencode "token=$4" --data-urlencode "word=$5" --data-urlencode 'reason=stuck' "${@:6}"
}

id=$(form atlt1 custom/one id)
token=$(form atlt1 custom/one token)
word=$(form atlt1 custom/one word)
[ -n "$id" ] && [ -n "$token" ] && [ -n "$word" ] || fail "no form: $(ask atlt1 '/lock?name=custom/one')"

# Not without the word, nor with another user's; not another's lock; not another grant.
expect_equal "$(release atlt1 custom/one "$id" "$token" '')" 403
expect_equal "$(release atlt1 custom/one "$id" "$token" "$(form atlt2 custom/one word)")" 403
two=("$(form atlt1 custom/two id)" "$(form atlt1 custom/two token)" "$word")
expect_equal "$(release atlt1 custom/two "${two[@]}")" 403
expect_equal "$(release atlt1 custom/two "${two[@]}" -H 'X-Remote-User: atlt2')" 403
expect_equal "$(release atlt1 custom/one "$id" 999 "$word")" 409
expect_equal "$(release atlt1 custom/one lock_1_x_00000000 "$token" "$word")" 409
expect_equal "$(ask atlt1 /release -o /dev/null -w '%{http_code}' -d "lock=custom/one&id=$id&token=$token&word=$word")" 400
expect_ok test -e "$MNT/custom/one@a"
expect_ok test -e "$MNT/custom/two@b"

# His own.
expect_equal "$(release atlt1 custom/one "$id" "$token" "$word")" 303
[[ $(ask atlt1 '/?part=1') != *custom/one* ]] || fail 'the page still shows it'
[ ! -e "$MNT/custom/one" ] || fail 'it is still held'
expect_equal "$(jq -rs '[.[] | select(.type == "released")][-1] | .lock + " " + .actor + ": " + .reason' "$MNT/events/live")" 'custom/one atlt1: stuck'
expect_equal "$(release atlt1 custom/one "$id" "$token" "$word")" 409

# Through the proxy the user is the one in its header; from anybody else a header means nothing.
as=(-H 'X-Remote-User: atlt2')
word=$(form daemon custom/two word "${as[@]}")
expect_equal "$(release daemon custom/two "$(form daemon custom/two id "${as[@]}")" "$(form daemon custom/two token "${as[@]}")" "$word" "${as[@]}")" 303
[ ! -e "$MNT/custom/two" ] || fail 'it is still held'
expect_equal "$(form daemon custom/two word)" '' 'the proxy without a header'

# Too often is too often.
expect_ok as_user atlt1 touch "$MNT/custom/one@a"
wait_until '[ -n "$(form atlt1 custom/one word)" ]'
word=$(form atlt1 custom/one word)
export -f ask release
export T word
codes=$(seq 40 | xargs -P 40 -I{} bash -c 'release atlt1 custom/one {} 1 "$word"')
[[ $codes == *429* ]] || fail "no limit of the rate: $codes"
serve_stop
