#!/bin/bash
# long
# atlock serve's event streams: two of them see a lock taken, queued, handed over and released within a second each; a thousand idle
# ones, and clients that send nothing or read nothing, keep no other client waiting. A mount that dies is said, and comes back.
. tests/mount/lib.sh
. tests/mount/serve.inc
mount_fs -o claim_timeout=60s
serve_start

stream() {
	curl -sSN --max-time 100 "$URL/events" >"$1" 2>/dev/null &
	STREAMS+=($!)
	wait_until "grep -q 'still here' '$1'" 20
}
STREAMS=()
stream "$T/one"
stream "$T/two"
sees() {
	local file
	for file in "$T/one" "$T/two"; do
		wait_until "grep -q '\"type\":\"$1\",\"lock\":\"custom/l\"' '$file'" 2
	done
}
expect_ok touch "$MNT/custom/l@a"
sees acquired
has '/?part=1' custom/l || fail 'the page is older than the event'
expect_ok touch "$MNT/queue/custom/l/normal@b"
sees queued
expect_ok rm "$MNT/custom/l@a"
sees granted
expect_ok rm "$MNT/custom/l@b"
sees released

# Clients that only connect, that never end their request, and that never read.
python3 - "${URL##*:}" >"$T/crowd" <<'END' &
import socket, sys, time
port = int(sys.argv[1])
held = []
for i in range(1000):
    s = socket.create_connection(("127.0.0.1", port), timeout=30)
    s.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    held.append(s)
for i in range(100):
    s = socket.create_connection(("127.0.0.1", port), timeout=30)
    s.sendall([b"", b"GET / HT", b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"][i % 3])
    held.append(s)
print("ready", flush=True)
time.sleep(600)
END
CROWD=$!
wait_until "grep -q ready '$T/crowd'" 60
expect_equal "$(status /health)" 200
touch "$MNT/custom/m@a"
wait_until "has '/?part=1' custom/m" 5
kill "$CROWD"
wait "$CROWD" || true
wait_until "[ \"\$(ls /proc/$SERVE/fd | wc -l)\" -lt 50 ]" 40

# The daemon hangs: pages still come, and say so.
kill -STOP "$DAEMON"
wait_until "has '/?part=1' 'class=\"banner\"'" 20
expect_equal "$(status /health)" 503
kill -CONT "$DAEMON"
wait_until "! has '/?part=1' 'class=\"banner\"'" 20
# It dies, and comes back.
kill_daemon
wait_until "has '/?part=1' 'class=\"banner\"'" 20
expect_equal "$(status /health)" 503
mount_fs -o claim_timeout=60s
wait_until "[ \"\$(status /health)\" = 200 ]" 20
! has '/?part=1' 'class="banner"' || fail 'the banner stays'

kill "${STREAMS[@]}" 2>/dev/null || true
wait "${STREAMS[@]}" 2>/dev/null || true
serve_stop
