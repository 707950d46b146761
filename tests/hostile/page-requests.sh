#!/bin/bash
# Requests that no browser makes, to the page of atlock serve: ways out of its addresses, names of other hosts, texts that are tags or headers, bodies
# without end. None gets what it is after, and the page answers afterwards.
. tests/mount/lib.sh
. tests/mount/serve.inc
mount_fs
serve_start
python3 tests/hostile/page-requests.py "${URL##*:}" || fail 'see above'

# Four hundred connections that send half a request, and those that ask and never read: a browser is answered meanwhile, and they end.
python3 - "${URL##*:}" >"$T/crowd" <<'END' &
import socket, sys, time
held = []
for i in range(400):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    try:
        s.sendall([b"GET /", b"POST /release HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\nlock=", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50][i % 3])
    except OSError:
        pass
    held.append(s)
print("ready", flush=True)
time.sleep(600)
END
CROWD=$!
wait_until "grep -q ready '$T/crowd'" 60
wait_until "[ \"\$(status /health 2>/dev/null)\" = 200 ]" 30
kill "$CROWD"
wait "$CROWD" || true
# Killed in the middle of a request, it leaves nothing that keeps the next from starting.
SOCKET=$T/socket
SERVE_LISTEN=unix:$SOCKET
serve_stop
serve_start
python3 - "$SOCKET" >"$T/sent" 2>/dev/null <<'END' &
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
print("sent", flush=True)
s.recv(1)
END
HALF=$!
wait_until "grep -q sent '$T/sent'" 30
kill -KILL "$SERVE"
wait "$SERVE" 2>/dev/null || true
serve_start
expect_equal "$(curl -sS --max-time 60 --unix-socket "$SOCKET" http://localhost/health | head -n 1)" ok
kill "$HALF" 2>/dev/null || true
wait "$HALF" 2>/dev/null || true
serve_stop
