#!/bin/bash
# Writes that are not finished, on many open files, have a budget in the daemon's memory. What they keep comes back when they are closed.
. tests/mount/lib.sh
mount_fs

cat >"$T/unfinished.py" <<'END'
import os, sys
mount, daemon = sys.argv[1], sys.argv[2]

def memory():
    return next(int(line.split()[1]) for line in open(f'/proc/{daemon}/status') if line.startswith('VmRSS'))

def fill(names, flags):
    files, refused = [], 0
    for name in names:
        file = os.open(f'{mount}/{name}', flags, 0o644)
        files.append(file)
        try:
            while True:
                os.write(file, b'x' * 65536)
        except OSError:
            refused += 1
    return files, refused

before = memory()
files, refused = fill([f'pulls/acme/infra/-/{n + 1}/projects.tsv' for n in range(100)], os.O_WRONLY)
grown = memory() - before
print(grown, 'KiB for', len(files), 'open files')
# A sanitizer keeps what was freed.
assert grown < 16384 or os.environ['TIME_FACTOR'] != '1'
for file in files:
    try:
        os.close(file)
    except OSError:
        pass
# All of it is free again: one file may have its mebibyte.
file = os.open(f'{mount}/pulls/acme/infra/-/1/meta', os.O_WRONLY | os.O_TRUNC)
assert os.write(file, b'note=y\n') == 7
os.close(file)
files, refused = fill(['pulls/acme/infra/-/7/projects.tsv'] * 3, os.O_WRONLY)
for file in files:
    try:
        os.close(file)
    except OSError:
        pass
END
export TIME_FACTOR
expect_ok python3 "$T/unfinished.py" "$MNT" "$DAEMON"
unmount_fs
