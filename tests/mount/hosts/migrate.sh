#!/bin/bash
# A store moves from a directory to a realm and back: locks, queues, directories, tokens and events; killed migrations go on; nothing is overwritten.
# root
. tests/mount/lib.sh
. tests/mount/hosts.inc

dir=$STORE
realm_start
uri="redis://127.0.0.1:$PORT/0?realm=moved"
other=$STORE
options=host_timeout=2s,engine_timeout=1s

# A store of one host.
STORE=$dir
mount_fs
expect_ok mkdir -p "$A/custom/d"
expect_ok sh -c "echo 'reason=release 7' >'$A/custom/d/x@job'"
expect_ok touch "$A/repos/acme/infra/-/a/-/w@pr:5" "$A/queue/custom/d/x/high@next" "$A/custom/session"
expect_ok sh -c "echo 45s >'$A/config/claim_timeout'"
seq -f "$A/custom/l%g@many" 300 | xargs touch || fail "not all locks were taken"
expect_ok rm "$A/custom/l300@many"
token=$(field "$A/custom/l299" token)
expect_fail 'is in use by' "$ATLOCK" migrate --from "$dir" --to "$uri"
unmount_fs

# Both ends must fit.
expect_fail 'neither is a realm' "$ATLOCK" migrate --from "$dir" --to "$T/elsewhere"
expect_fail 'there is no store' "$ATLOCK" migrate --from "$T/none" --to "$uri"
expect_fail 'is there already' "$ATLOCK" migrate --from "$dir" --to "$other"
expect_status 64 "$ATLOCK" migrate --from "$dir"

# stalled_kill WORD CONNECTIONS FROM TO: the migration is killed where the server seems to stand still for it: after it has sent this word, or
# with the connection after so many. STALL in an address is the port of what is in between.
stalled_kill() {
	rm -f "$T/stall" "$T/stalled"
	python3 - "$PORT" "$1" "$2" "$T/stalled" >"$T/stall" <<'EOF' &
import socket, sys, threading
port, word, most, mark = int(sys.argv[1]), sys.argv[2].encode(), int(sys.argv[3]), sys.argv[4]
def stall():
    open(mark, "w").close()
    threading.Event().wait()
def pump(a, b, watch):
    while data := a.recv(65536):
        b.sendall(data)
        if watch and word and word in data:
            stall()
    b.close()
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
count = 0
while True:
    a = listener.accept()[0]
    count += 1
    if count > most:
        stall()
    b = socket.create_connection(("127.0.0.1", port))
    threading.Thread(target=pump, args=(a, b, True), daemon=True).start()
    threading.Thread(target=pump, args=(b, a, False), daemon=True).start()
EOF
	local between=$! pid stall
	wait_until '[ -s "$T/stall" ]'
	stall=$(cat "$T/stall")
	"$ATLOCK" migrate --from "${3/STALL/$stall}" --to "${4/STALL/$stall}" >/dev/null 2>&1 &
	pid=$!
	wait_until '[ -e "$T/stalled" ]' 30
	kill -KILL "$pid" "$between"
	wait "$pid" "$between" 2>/dev/null || true
}
stalled="redis://127.0.0.1:STALL/0?realm=moved"

# Killed while it writes the realm: that cannot be mounted, nothing else is put there, and the same command goes on.
stalled_kill HSET 100 "$dir" "$stalled"
expect_fail 'no realm' timeout 60 "$ATLOCKFS_BUILD/atlockfs" -f --store "$uri" "$A"
expect_fail 'is there already' "$ATLOCK" realm create "$uri"
expect_ok "$ATLOCK" migrate --from "$dir" --to "$uri"
"$ATLOCK" migrate --from "$dir" --to "$uri" >"$T/again" 2>/dev/null || fail "the same migration again failed"
grep -q 'moved already' "$T/again" || fail "it is not said that it was done: $(cat "$T/again")"

# Two hosts have it.
STORE=$uri
mount_fs -o "$options"
mount_b -o "$options"
expect_equal "$(field "$B/custom/d/x" who)" job
expect_equal "$(field "$B/custom/d/x" reason)" 'release 7'
expect_equal "$(field "$A/repos/acme/infra/-/a/-/w" who)" pr:5
expect_equal "$(cat "$B/config/claim_timeout")" 45s
expect_equal "$(find "$B/custom" -name 'l*' | wc -l)" 299
wait_until '[ ! -e "$A/custom/session" ]' 30
expect_ok touch "$B/custom/l300@late"
[ "$(field "$A/custom/l300" token)" -gt "$token" ] || fail "the token did not rise"
token=$(field "$A/custom/l300" token)
expect_ok rm "$A/custom/d/x@job"
expect_equal "$(field "$B/custom/d/x" who)" next
expect_ok "$ATLOCK" -m "$B" audit verify
grep -q '"type":"released","lock":"custom/l300"' "$B/events/live" || fail "the events of the directory are not shown"

# Back into a directory. Not while it is mounted, and not onto other data.
expect_fail 'has the realm mounted' "$ATLOCK" migrate --from "$uri" --to "$T/back"
[ ! -e "$T/back/data.mdb" ] || fail "something was written"
unmount_b
unmount_fs
other_data() {
	! "$ATLOCK" migrate --from "$uri" --to "$dir" >/dev/null 2>"$T/said" || fail "it was migrated onto another store"
	grep -q 'has other data' "$T/said"
}
wait_until other_data 30

# Killed before the end: it cannot be mounted, and the same command goes on.
stalled_kill '' 2 "$stalled" "$T/back"
expect_fail 'was not finished' timeout 60 "$ATLOCKFS_BUILD/atlockfs" -f --store "$T/back" "$A"
expect_ok "$ATLOCK" migrate --from "$uri" --to "$T/back"
expect_ok "$ATLOCK" fsck --store "$T/back"

STORE=$T/back
mount_fs
expect_equal "$(field "$A/custom/d/x" who)" next
expect_equal "$(find "$A/custom" -name 'l*' | wc -l)" 300
expect_ok touch "$A/custom/new@1"
[ "$(field "$A/custom/new" token)" -gt "$token" ] || fail "the token did not rise"
expect_ok "$ATLOCK" -m "$A" audit verify
grep -q '"lock":"custom/l300","owner":"root","who":"late"' "$A"/events/20*.jsonl || fail "the hosts' events are not shown"
unmount_fs
server_stop
