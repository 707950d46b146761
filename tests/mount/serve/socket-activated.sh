#!/bin/bash
# atlock serve takes the socket that systemd made for it, as its unit does: started by the first request, as a user without rights.
. tests/mount/lib.sh
. tests/mount/serve.inc
[ -n "$(command -v systemd-socket-activate)" ] || skip 'needs systemd-socket-activate'
mount_fs
expect_ok touch "$MNT/custom/deploy@build-1"
run=()
[ "$(id -u)" -ne 0 ] || run=(setpriv --reuid=atlt1 --regid=atlt1 --clear-groups)

# The command of the unit, but for where the mount is.
command=$(sed -n 's/^ExecStart=@BINDIR@\/atlock \(.*\) -m \/locks$/\1/p' tools/packaging/systemd/atlock-serve.service)
expect_equal "$command" serve
# The group of the unit's socket may connect; here, everybody.
(umask 0 && exec systemd-socket-activate --listen "$T/socket" "${run[@]}" "$ATLOCK" "$command" -m "$MNT") >"$T/serve.out" 2>"$T/serve.err" &
SERVE=$!
wait_until '[ -S "$T/socket" ]' 30
[ ! -s "$T/serve.out" ] || fail 'it was started before there was a request'
ask() {
	curl -sS --max-time 60 --unix-socket "$T/socket" "http://localhost$1"
}
[[ $(ask '/?part=1') == *custom/deploy* ]] || fail "$(cat "$T/serve.err")"
grep -q "^unix:$T/socket shows" "$T/serve.out" || fail "$(cat "$T/serve.out")"
expect_equal "$(ask /health | head -n 1)" ok
# It has no rights to release, whoever asks.
[[ $(ask '/lock?name=custom/deploy') != *'<form class="release"'* ]] || fail 'there is a button'
serve_stop
