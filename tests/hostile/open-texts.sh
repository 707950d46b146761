#!/bin/bash
# Texts of open files take a bounded amount of memory, however many files a user has open and however he reads them; who reads on gets
# the rest of the same text, or EIO if it is another by then.
. "$(dirname "$0")/../mount/lib.sh"
mount_fs -o sync=off

many=${ROUNDS:-2000}
[ "$many" -ge 400 ] || many=400 # fewer fit into the budget
long=$(printf '%7500s' '' | tr ' ' x)
touch "$MNT/global/long@a" "$MNT/global/changes@a"
printf 'a=%s\nb=%s\n' "$long" "$long" >>"$MNT/global/long@a"
printf 'a=%s\nb=%s\n' "$long" "$long" >>"$MNT/global/changes@a"
for i in $(seq 40); do touch "$MNT/repos/acme/infra/-/d/-/w-$i@a"; done
ulimit -n $((6 * many + 100)) || skip 'needs more open files'
cat >"$T/open" <<'PY'
import errno, mmap, os, sys
mnt, many = sys.argv[1], int(sys.argv[2])
def say(what):
    print(what, flush=True)
    sys.stdin.readline()
def opened(name):
    return [os.open(f'{mnt}/{name}', os.O_RDONLY) for _ in range(many)]
long = f'{mnt}/global/long'
whole = open(long, 'rb').read()
say('begin')
parts = opened('global/long')
for fd in parts:
    assert os.read(fd, 4096) == whole[:4096]
maps = []
for fd in opened('global/long'):
    map = mmap.mmap(fd, len(whole), mmap.MAP_PRIVATE, mmap.PROT_READ)
    assert map[:10] == whole[:10]
    maps.append(map)
wholes = opened('global/long')
for fd in wholes:
    assert os.read(fd, 1 << 17) == whole
waits = opened('wait/global/long@a')
for fd in waits:
    assert os.read(fd, 4096) == whole[:4096]
lists = [os.open(f'{mnt}/locks.jsonl', os.O_RDONLY) for _ in range(many // 4)]
for fd in lists:
    assert len(os.read(fd, 4096)) == 4096
say('open')
# What is left of the oldest.
for fd in parts[:50] + parts[-1:]:
    assert os.read(fd, 1 << 17) == whole[4096:]
    assert os.read(fd, 1 << 17) == b''
for map in maps[:50]:
    assert map[:] == whole
for fd in wholes[:50]:
    assert os.read(fd, 1 << 17) == b''
    assert os.pread(fd, 100, 50) == whole[50:150]
for fd in waits[:50]:
    assert os.read(fd, 1 << 17) == whole[4096:]
    assert os.read(fd, 1 << 17) == b''
# Asking for its size does not begin a list anew whose reader is in the middle of it.
assert os.fstat(lists[0]).st_size > 4096
try:
    os.read(lists[0], 4096)
    sys.exit('a list that was dropped goes on')
except OSError as e:
    assert e.errno == errno.EIO
    assert 'too many files' in open(f'{mnt}/why').read()
os.lseek(lists[0], 0, 0)
assert os.read(lists[0], 4096)
for fd in parts + wholes + waits + lists:
    os.close(fd)
# One text becomes another: the rest of it is not served as that of the first.
first = os.open(f'{mnt}/global/changes', os.O_RDONLY)
os.read(first, 4096)
more = [os.open(long, os.O_RDONLY) for _ in range(100)]
for fd in more:
    os.read(fd, 4096)
say('change')
try:
    os.read(first, 4096)
    sys.exit('parts of two texts')
except OSError as e:
    assert e.errno == errno.EIO
os.lseek(first, 0, 0)
assert b'\nb=other\n' in os.read(first, 1 << 17)
PY
coproc HOLD { exec python3 "$T/open" "$MNT" "$many"; }
hold=$HOLD_PID to=${HOLD[1]} from=${HOLD[0]}
step() {
	local line
	read -r -t $((100 * TIME_FACTOR)) line <&"$from" || true
	expect_equal "$line" "$1"
}
step begin
before=$(anonymous)
echo >&"$to"
step open
after=$(anonymous)
echo "$before kB, then $after kB"
echo >&"$to"
step change
printf 'b=other\n' >>"$MNT/global/changes@a"
echo >&"$to"
expect_ok wait "$hold"
# A sanitizer keeps what was freed. Each open file takes some hundred bytes besides.
[ "$TIME_FACTOR" -ne 1 ] || [ $((after - before)) -le $((2048 + many * 4)) ] || fail "open files took $((after - before)) kB"
