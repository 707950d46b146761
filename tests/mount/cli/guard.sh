#!/bin/bash
# root
# atlock guard runs a command that stops a shared resource only if all other apps are down: it asks them over HTTP, holds
# stop@app meanwhile, and ends the command when one comes up.
. tests/mount/lib.sh
mount_fs -o max_ttl=2s,default_ttl=2s

atlock=$ATLOCKFS_BUILD/atlock
db=$MNT/shared/db
mkdir "$db"
touch "$db/apps/"{a,b}
guard() {
	"$atlock" guard -m "$MNT" "$@"
}
# The command exits with this status and says this: expect_status 75 'b is UP' guard ...
expect_status() {
	local wanted=$1 text=$2 status=0
	shift 2
	"$@" >"$T/out" 2>"$T/err" || status=$?
	[ "$status" -eq "$wanted" ] || fail "status $status instead of $wanted from: $* : $(cat "$T/err")"
	[ -z "$text" ] || grep -qF -- "$text" "$T/err" || fail "not \"$text\" from: $* : $(cat "$T/err")"
	[ ! -e "$db/stop" ] || fail "left stop behind: $*"
}

# A server that answers as its path says: /200, /503; /hang never.
cat >"$T/server.py" <<'END'
import http.server, os, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        if self.path == '/hang':
            time.sleep(600)
        up = os.path.exists(sys.argv[2])
        self.send_response((200 if up else 503) if self.path == '/state' else int(self.path[1:]))
        self.send_header('Content-Length', '0')
        self.end_headers()
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler)
server.daemon_threads = True
server.serve_forever()
END
server_start python3 "$T/server.py" '{port}' "$T/up"
url=http://127.0.0.1:$PORT

# Wrong words, and things that are not there.
expect_status 64 'which resource' guard
expect_status 64 '--app' guard db -- true
expect_status 64 'which command' guard db --app a
expect_status 64 'APP=URL' guard db --app a --probe b -- true
expect_status 64 'duration' guard db --app a --timeout soon -- true
expect_status 64 '200,204' guard db --app a --up ok -- true
expect_status 64 'number' guard db --app a --retries x -- true

# A resource that nobody registered is dedicated; one that has apps is guarded, unless the guard is switched off.
expect_status 3 'shared/none is dedicated' guard none --app a -- sh -c 'exit 3'
expect_status 0 'would run' guard none --app a --dry-run -- false
expect_status 4 'switched off' guard db --app a --off -- sh -c 'exit 4'
expect_status 4 'switched off' env ATLOCK_GUARD=off "$atlock" guard -m "$MNT" db --app a -- sh -c 'exit 4'
expect_status 66 'create apps/c' guard db --app c -- true
expect_status 66 'c is no app' guard db --app a --probe "c=$url/200" -- true

# Without a probe, what b says counts.
expect_status 75 'b is UNKNOWN' guard db --app a -- touch "$T/ran"
echo UP >"$db/apps/b"
expect_status 75 'b is UP' guard db --app a -- touch "$T/ran"
[ ! -e "$T/ran" ]
echo DOWN >"$db/apps/b"
expect_status 0 '' guard db --app a -- touch "$T/ran"
rm "$T/ran"

# With one, what it answers does, and is written down.
for case in 200=UP 204=UP@--up=2xx 418=UNKNOWN@--down=404,5xx; do
	echo DOWN >"$db/apps/b"
	word=${case#*=}
	option=
	[[ $word != *@* ]] || option=${word#*@}
	word=${word%@*}
	expect_status 75 "b is $word at" guard db --app a $option --probe "b=$url/${case%%=*}" -- touch "$T/ran"
	expect_equal "$(cat "$db/apps/b")" "$word" "$case"
	seen=$((${seen:-0} + 1))
	wait_until '[ "$(cat "$MNT/events/"2*.jsonl | jq -r "select(.code == \"IN_USE\" and .actor == \"root\" and .comm == \"atlock\") | .lock" | grep -c "^shared/db/stop")" -ge "$seen" ]'
done
for answer in 204 302 404 503; do
	expect_status 0 '' guard db --app a --probe "b=$url/$answer" -- true
	expect_equal "$(cat "$db/apps/b")" DOWN "$answer"
done
expect_status 0 '' guard db --app a --dry-run --probe "b=$url/503" -- touch "$T/ran"
expect_equal "$(cat "$T/out")" stop
start=$SECONDS
expect_status 75 'b is UNKNOWN' guard db --app a --timeout 500ms --probe "b=$url/hang" -- touch "$T/ran"
[ $((SECONDS - start)) -lt $((5 * TIME_FACTOR)) ] || fail "the timeout does not bound it"
expect_status 75 'b is UNKNOWN' guard db --app a --probe "b=file:///etc/passwd" -- touch "$T/ran"
expect_status 75 'b is UNKNOWN' guard db --app a --probe 'b=http://host.invalid/' -- touch "$T/ran"
[ ! -e "$T/ran" ]
# What we see counts also where we may not write it.
touch "$db/apps/mine"
chown atlt1 "$db/apps/mine"
echo DOWN >"$db/apps/a"
echo DOWN >"$db/apps/b"
expect_status 75 'b is UP' as_user atlt1 "$atlock" guard -m "$MNT" db --app mine --probe "b=$url/200" -- true
expect_equal "$(cat "$db/apps/b")" DOWN 'of root'
expect_status 77 'belongs to root' as_user atlt1 "$atlock" guard -m "$MNT" db --app a -- true
rm "$db/apps/mine"

# A refused connection is no answer: the app, or only the way to it, is down.
server_stop KILL
expect_status 75 'b is UNKNOWN' guard db --app a --probe "b=$url/200" -- true
server_start python3 "$T/server.py" '{port}' "$T/up"
expect_status 0 '' guard db --app a --ttl 1s --probe "b=$url/503" -- sh -c 'head -n 1 "$1"/verdict; cat "$1/stop@a"' - "$db"
expect_equal "$(head -n 1 "$T/out")" stop
grep -qx who=a "$T/out"
grep -qx ttl=1s "$T/out"
expect_equal "$(cat "$db/apps/b")" DOWN

# The exit status is the command's.
expect_status 7 '' guard db --app a --probe "b=$url/503" -- sh -c 'exit 7'
expect_status 137 '' guard db --app a --probe "b=$url/503" -- sh -c 'kill -KILL $$'
expect_status 127 '/none' guard db --app a --probe "b=$url/503" -- /none

# It holds the lock for longer than a lease, alone.
guard db --app a --probe "b=$url/503" -- sh -c ': >"$1/begun"; until [ -e "$1/go" ]; do sleep 0.1; done' - "$T" &
long=$!
wait_until '[ -e "$T/begun" ]'
status=0
guard db --app a -- true 2>"$T/err" || status=$?
expect_equal "$status" 75 'another for the same app'
grep -q 'skipped: a is stopping shared/db already, tried 3 times' "$T/err" || fail "$(cat "$T/err")"
token=$(field "$db/stop" token)
until_after "$(field "$db/stop" expires_at)"
expect_equal "$(field "$db/stop" token)" "$token" 'held all the time'
touch "$T/go"
wait "$long"
[ ! -e "$db/stop" ]

# An app that comes up ends it.
rm "$T/begun" "$T/go"
guard db --app a --probe "b=$url/state" -- sh -c ': >"$1/begun"; exec sleep 600' - "$T" 2>"$T/err" &
long=$!
wait_until '[ -e "$T/begun" ]'
touch "$T/up"
status=0
wait "$long" || status=$?
expect_equal "$status" 75 'ended'
grep -q 'may not be stopped any more' "$T/err"
[ ! -e "$db/stop" ]

# A signal goes to the command, and the lock is given back.
rm "$T/begun"
"$atlock" guard -m "$MNT" db --app a --probe "b=$url/503" -- sh -c ': >"$1/begun"; exec sleep 600' - "$T" &
long=$!
wait_until '[ -e "$T/begun" ]'
kill -TERM "$long"
status=0
wait "$long" || status=$?
expect_equal "$status" 143
[ ! -e "$db/stop" ]

# What all these runs did is counted by resource, for readers of the tree and for Prometheus; nobody else can count.
mkdir "$MNT/shared/counted"
touch "$MNT/shared/counted/apps/"{a,b}
expect_equal "$(xargs <"$MNT/shared/counted/guard")" 'stopped=0 in_use=0 contended=0 tries=0 try_seconds=0.000'
expect_status 75 'b is UNKNOWN' guard counted --app a -- true
expect_status 75 'b is UP at' guard counted --app a --probe "b=$url/200" -- true
expect_status 0 '' guard counted --app a --probe "b=$url/503" -- true
touch "$MNT/shared/counted/stop@b" 2>/dev/null && fail "a is UNKNOWN"
echo DOWN >"$MNT/shared/counted/apps/a"
touch "$MNT/shared/counted/stop@b"
expect_status 75 'skipped: b is stopping' guard counted --app a --probe "b=$url/503" --retries 1 -- true
expect_equal "$(sed 's/\(try_seconds=\).*/\1/' "$MNT/shared/counted/guard" | xargs)" 'stopped=1 in_use=2 contended=1 tries=5 try_seconds='
prom() { sed -n "s/^atlockfs_guard_$1{resource=\"counted\"${2-}} //p" "$MNT/metrics/atlockfs.prom"; }
expect_equal "$(prom runs_total ',result="stopped"') $(prom runs_total ',result="in_use"') $(prom runs_total ',result="contended"')" '1 2 1'
expect_equal "$(prom tries_total)" 5
[ -n "$(prom try_seconds_total)" ] || fail "no time"
! as_user atlt1 sh -c "echo 'a stopped 1 1' >>$MNT/shared/counted/guard" 2>/dev/null || fail "another user counted"
! echo 'a stopped' 2>/dev/null >>"$MNT/shared/counted/guard" || fail "half a line"
expect_equal "$(ls "$MNT/shared/counted" | xargs)" 'apps stop verdict'
rm "$MNT/shared/counted/stop@b"
