#!/bin/bash
# What the daemon says: to stderr in the foreground, to syslog in the background, as much as asked for, one line each whatever
# names are in it.
. tests/mount/lib.sh
log=${T%/*}/daemon1.log
mount_fs

wait_until 'grep -q "^atlockfs: info: $MNT: mounted, version .*, store $STORE\$" "$log"'
expect_ok sh -c 'echo 5 >"$1"' sh "$MNT/config/max_queue"
grep -qx 'atlockfs: info: config/max_queue is 5 now, it was 1000; by root' "$log" || fail "$(cat "$log")"
! grep -q debug "$log" || fail "$(cat "$log")"
expect_ok sh -c 'echo debug >"$1"' sh "$MNT/config/log_level"
printf 'ttl=1s\nreason=hush\n' >"$MNT/custom/secret@x"
wait_until 'grep -q "^atlockfs: debug: 1 leases, tickets or claims have ended" "$log"'
expect_ok sh -c 'echo error >"$1"' sh "$MNT/config/log_level"
rm -r "$STORE"
expect_fail 'Input/output error' touch "$MNT/global/b@h"
wait_until 'grep -q "^atlockfs: error: the store failed: Input/output error; its files were" "$log"'
unmount_fs
! grep -q unmounting "$log" || fail "not an error: $(cat "$log")"
! grep -q hush "$log" || fail "says what users wrote: $(cat "$log")"

# A path with control bytes in it cannot write lines of its own.
odd=$T/$'odd\n\033[31m'
mkdir "$odd"
touch "$odd/file"
expect_status 1 "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$odd"
expect_equal "$(cat "$T/err")" "atlockfs: error: $T/odd\\x0a\\x1b[31m: is not empty; mount on an empty directory"
expect_status 64 "$ATLOCKFS_BUILD/atlockfs" -o log=nowhere --store "$STORE" "$MNT"
grep -q 'stderr' "$T/err" || fail "$(cat "$T/err")"

# Syslog. There may be one on this host already, so the daemon gets a /dev of its own, whose log we read.
mkdir "$T/dev"
for node in null zero urandom fuse; do
	touch "$T/dev/$node"
done
python3 -c 'import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
with open(sys.argv[2], "ab", buffering=0) as out:
    while True:
        out.write(s.recv(8192).rstrip(b"\0\n") + b"\n")' "$T/dev/log" "$T/syslog" &
listener=$!
wait_until '[ -S "$T/dev/log" ]'
expect_ok unshare -m bash -c '
	set -e
	for node in null zero urandom fuse; do mount --bind "/dev/$node" "$3/dev/$node"; done
	mount --rbind "$3/dev" /dev
	"$ATLOCKFS_BUILD/atlockfs" --store "$2" "$1"
	echo 7 >"$1/config/max_queue"
	fusermount3 -u "$1"' bash "$MNT" "$STORE.other" "$T"
wait_until 'grep -q "$MNT: unmounting" "$T/syslog"'
kill "$listener"
wait "$listener" || true
expect_equal "$(grep -c "^<30>.* atlockfs\[[0-9]*\]: $MNT: mounted, " "$T/syslog")" 1 "$(cat "$T/syslog")"
grep -q 'config/max_queue is 7 now, it was 1000; by root' "$T/syslog" || fail "$(cat "$T/syslog")"
