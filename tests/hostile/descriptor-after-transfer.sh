#!/bin/bash
# root
# A file opened while one user held a lock does not show the text of the user it was given to, if that user's mode forbids it.
. "$(dirname "$0")/../mount/lib.sh"
mount_fs -o allow_other
lock=$MNT/global/l
expect_ok as_user atlt1 touch "$lock@c"
coproc READER { exec python3 -c '
import os, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
fd = os.open(sys.argv[1], os.O_RDONLY)
print("open", flush=True)
for line in sys.stdin:
    try:
        print("reason=secret" in os.pread(fd, 65536, 0).decode(), flush=True)
    except OSError as e:
        print(os.strerror(e.errno), flush=True)
' "$lock"; }
to=${READER[1]} from=${READER[0]} reader=$READER_PID
answer() {
	local line
	echo look >&"$to"
	read -r -t $((20 * TIME_FACTOR)) line <&"$from"
	echo "$line"
}
read -r line <&"$from"
expect_equal "$line" open
expect_equal "$(answer)" False
expect_ok as_user atlt1 bash -c 'printf "owner=atlt2\nwho=v\n" | dd of="$1" conv=notrunc oflag=append status=none' - "$lock@c"
expect_ok as_user atlt2 sh -c 'chmod 600 "$1"; echo reason=secret >>"$1"' - "$lock@v"
expect_equal "$(answer)" 'Permission denied'
expect_ok as_user atlt2 chmod 644 "$lock@v"
expect_equal "$(answer)" True
eval "exec $to>&-"
expect_ok wait "$reader"
