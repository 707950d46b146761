#!/bin/bash
# root
# The kernel holds a directory while it writes its entries into the caller's memory. If that memory is a page of wait/ which is
# waited for, all others wait with it: such a page is refused instead.
. tests/mount/lib.sh
mount_fs -o allow_other

expect_ok as_user atlt1 touch "$MNT/custom/block@me"
cat >"$T/hold.py" <<'END'
import ctypes, mmap, os, sys
mnt = sys.argv[1]
wait = os.open(mnt + "/wait/custom/block@other", os.O_RDONLY)
page = mmap.mmap(wait, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
buffer = ctypes.addressof(ctypes.c_char.from_buffer(page))
directory = os.open(mnt + "/global", os.O_RDONLY | os.O_DIRECTORY)
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(0 if libc.syscall(217, directory, ctypes.c_void_p(buffer), ctypes.c_size_t(4096)) < 0 else 1)
END
expect_ok touch "$MNT/global/a@x"
[ "$(uname -m)" = x86_64 ] || skip 'the number of getdents64 is another'
expect_ok as_user atlt1 timeout $((10 * TIME_FACTOR)) /usr/bin/python3 "$T/hold.py" "$MNT"
expect_ok as_user atlt2 timeout $((10 * TIME_FACTOR)) touch "$MNT/global/v"
