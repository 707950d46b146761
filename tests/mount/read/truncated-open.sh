#!/bin/bash
# A lock that was opened with O_RDWR|O_TRUNC, for which the kernel has set its size to 0, is whole in every way of reading that asks for
# the size or comes to the daemon. sendfile(2) and splice(2) without either are not: DESIGN.md, "How files are read".
. tests/mount/lib.sh
mount_fs
touch "$MNT/custom/l@x"
/usr/bin/python3 - "$MNT/custom/l@x" "$T/out" <<'PY' || fail 'a text was cut off'
import mmap, os, sys

path, out = sys.argv[1:]

def through_sendfile(fd):
    with open(out, "wb") as to:
        while os.sendfile(to.fileno(), fd, None, 65536) > 0:
            pass
    with open(out, "rb") as copy:
        return copy.read()

def after_fstat(fd):
    os.fstat(fd)
    return through_sendfile(fd)

def after_lseek(fd):
    os.lseek(fd, 0, os.SEEK_END)
    os.lseek(fd, 0, os.SEEK_SET)
    return through_sendfile(fd)

ways = {
    "read": lambda fd: os.read(fd, 65536),
    "pread": lambda fd: os.pread(fd, 65536, 0),
    "mmap": lambda fd: mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)[:],
    "fstat, sendfile": after_fstat,
    "lseek, sendfile": after_lseek,
}
for name, way in ways.items():
    fd = os.open(path, os.O_RDWR | os.O_TRUNC)
    got = way(fd)
    os.close(fd)
    if not got.endswith(b"\n") or b"\nwho=x\n" not in got or len(got) != os.stat(path).st_size:
        sys.exit("%s: %r" % (name, got))
PY
