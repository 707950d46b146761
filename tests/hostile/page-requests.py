"""page-requests.py PORT: requests that no browser makes. Each is answered with an error, or the connection is closed; none is answered as if it were right."""
import socket
import sys

port = int(sys.argv[1])
HOST = b"Host: localhost\r\n"


def ask(request, wait=2):
    """The first line of the answer, "" if the connection was closed without one; and the whole answer."""
    s = socket.create_connection(("127.0.0.1", port), timeout=wait)
    try:
        s.sendall(request)
        s.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    answer = b""
    try:
        while True:
            part = s.recv(65536)
            if not part:
                break
            answer += part
    except OSError:
        pass
    s.close()
    return answer.split(b"\r\n")[0].decode(errors="replace"), answer


def get(path):
    return b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"


def refused(what, request):
    line, answer = ask(request)
    assert line == "" or line.split()[1][0] in "45", (what, line)
    assert b"root:" not in answer and b"secret" not in answer, (what, answer[:2000])


def harmless(what, request):
    """Answered or not, but with nothing of another page, and no header of the request's making."""
    line, answer = ask(request)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"Injected" not in head, (what, head)
    assert b"<script>" not in body or b"Content-Type: application/json" in head, (what, body[:2000])


for path in (b"/../../etc/passwd", b"/%2e%2e/%2e%2e/etc/passwd", b"//etc/passwd", b"/page.css/../../etc/passwd",
             b"/api", b"/api/", b"/API/LOCKS", b"/lock/", b"/release", b"http://evil.example/nothing"):
    refused(path, get(path))
refused("other host", b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
refused("host with a port of another", b"GET / HTTP/1.1\r\nHost: localhost.evil.example:80\r\n\r\n")
refused("two hosts", b"GET / HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n\r\n")
refused("no host", b"GET / HTTP/1.0\r\n\r\n")
refused("long path", get(b"/?q=" + b"a" * 100000))
refused("long header", b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 100000 + b"\r\n\r\n")
refused("many headers", b"GET / HTTP/1.1\r\n" + HOST + b"A: b\r\n" * 20000 + b"\r\n")
refused("long method", b"A" * 50000 + b" / HTTP/1.1\r\n" + HOST + b"\r\n")
refused("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500))
refused("bad length", b"POST /release HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n")
refused("long length", b"POST /release HTTP/1.1\r\n" + HOST + b"Content-Length: 99999999999999999999999\r\n\r\n")
refused("long form", b"POST /release HTTP/1.1\r\n" + HOST + b"Connection: close\r\nContent-Length: 1000000\r\n\r\n" + b"lock=a&" * 142857 + b"x")
refused("bad chunk", b"POST /release HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")
refused("upgrade", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
for method in (b"PUT", b"DELETE", b"PATCH", b"POST", b"OPTIONS", b"TRACE", b"CONNECT"):
    refused(method, method + b" / HTTP/1.1\r\n" + HOST + b"Connection: close\r\nContent-Length: 0\r\n\r\n")
for value in (b"%0d%0aInjected:%20x", b"%00", b"%zz", b"%", b"%c0%af", b"%ff%fe", b"%3Cscript%3Ealert(1)%3C/script%3E", b"%22%3E%3Cscript%3E",
              b"%E2%80%AE", b"a" * 4000):
    for path in (b"/?q=", b"/?sort=", b"/?from=", b"/?older=", b"/lock?name=", b"/user?name=", b"/pull?repo=", b"/pull?number=",
                 b"/api/locks?after=", b"/api/events?after=", b"/api/locks?limit=", b"/status/quick?app=", b"/?host="):
        harmless(path + value, get(path + value))
# A second request in what the first one calls its body is no request.
line, answer = ask(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\n"
                   + HOST + b"\r\n")
assert answer.count(b"HTTP/1.1 200") == 0, answer
assert ask(get(b"/health"), 60)[0] == "HTTP/1.1 200 OK"
