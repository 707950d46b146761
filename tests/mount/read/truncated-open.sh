#!/bin/bash
# A lock that was opened with O_RDWR|O_TRUNC is whole in every way of reading: truncating alone changes nothing. DESIGN.md, "How files
# are read".
. tests/mount/lib.sh
mount_fs
touch "$MNT/custom/l@x"
/usr/bin/python3 - "$MNT/custom/l@x" "$T/out" <<'PY' || fail 'a text was cut off'
import errno, mmap, os, sys

path, out = sys.argv[1:]

def through_sendfile(fd):
    with open(out, "wb") as to:
        while os.sendfile(to.fileno(), fd, None, 65536) > 0:
            pass
    with open(out, "rb") as copy:
        return copy.read()

def through_splice(fd):
    got = b""
    into, at = os.pipe()
    while True:
        n = os.splice(fd, at, 65536) if hasattr(os, "splice") else splice(fd, at)
        if n == 0:
            break
        got += os.read(into, n)
    os.close(into)
    os.close(at)
    return got

def splice(fd, to):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    n = libc.splice(fd, None, to, None, ctypes.c_size_t(65536), 0)
    if n < 0:
        raise OSError(ctypes.get_errno(), "splice")
    return n

def through_range(fd):
    with open(out, "wb") as to:
        try:
            while os.copy_file_range(fd, to.fileno(), 65536) > 0:
                pass
        except OSError as e:
            if e.errno != errno.EXDEV:
                raise
            return through_sendfile(fd)
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
    "sendfile": through_sendfile,
    "splice": through_splice,
    "copy_file_range": through_range,
    "fstat, sendfile": after_fstat,
    "lseek, sendfile": after_lseek,
}
for name, way in [(name, way) for name, way in ways.items() for _ in range(5)]:
    fd = os.open(path, os.O_RDWR | os.O_TRUNC)
    got = way(fd)
    os.close(fd)
    if not got.endswith(b"\n") or b"\nwho=x\n" not in got or len(got) != os.stat(path).st_size:
        sys.exit("%s: %r" % (name, got))
PY

# What O_TRUNC means is the file's that was opened with it, though the kernel truncates by name: `>` replaces, `>>` beside it merges.
l=$MNT/custom/l@x
keys() { grep -E '^[abc]=' "$l" | xargs; }
printf 'a=1\nb=1\n' >"$l"
expect_equal "$(keys)" 'a=1 b=1'
exec 3>>"$l" 4>"$l"
expect_equal "$(keys)" 'a=1 b=1' 'after truncating alone'
echo c=1 >&3
expect_equal "$(keys)" 'a=1 b=1 c=1'
echo a=2 >&4
expect_equal "$(keys)" 'a=2'
echo b=2 >&4
expect_equal "$(keys)" 'a=2 b=2'
exec 3>&- 4>&-
# truncate(2) by name is no such open, and neither is another process's.
exec 3>>"$l"
expect_ok truncate -s 0 "$l"
expect_ok /usr/bin/python3 -c 'import os, sys; os.truncate(sys.argv[1], 0)' "$l"
echo c=3 >&3
expect_equal "$(keys)" 'a=2 b=2 c=3'
exec 3>&-
