#!/bin/bash
# root
# A direct read that was only submitted has a process, too: when that is killed, its place in the queue goes.
. tests/mount/lib.sh
mount_fs -o allow_other
[ "$(uname -m)" = x86_64 ] || skip 'the numbers of io_setup and io_submit are others'

cat >"$T/submit.py" <<'END'
import ctypes, mmap, os, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
memory = mmap.mmap(-1, 4096)
context = ctypes.c_ulong(0)
if libc.syscall(206, 1, ctypes.byref(context)) < 0:
    sys.exit("io_setup")
block = ctypes.create_string_buffer(struct.pack("<QIIHhIQQqQII", 0, 0, 0, 0, 0, fd,
    ctypes.addressof(ctypes.c_char.from_buffer(memory)), 4096, 0, 0, 0, 0))
blocks = (ctypes.c_void_p * 1)(ctypes.addressof(block))
libc.syscall(209, context, 1, blocks)
time.sleep(1000)
END
expect_ok touch "$MNT/global/l@root"
setpriv --reuid=atlt1 --regid=atlt1 --init-groups /usr/bin/python3 "$T/submit.py" "$MNT/wait/global/l@dead" &
reader=$!
wait_until '[ "$(field "$MNT/global/l" waiters)" = 1 ]'
kill -KILL "$reader"
wait "$reader" || true
wait_until '[ "$(field "$MNT/global/l" waiters)" = 0 ]'
is_gone "$reader" || fail 'it cannot be killed'
expect_ok rm "$MNT/global/l@root"
[ ! -e "$MNT/global/l" ] || fail "a dead process has it: $(cat "$MNT/global/l")"
