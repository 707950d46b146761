#!/bin/bash
# Memory of an open locks.jsonl does not grow with the locks, nor with the texts that users write to them.
. tests/mount/lib.sh
mount_fs -o sync=off

many=${ROUNDS:-5000}
seq "$many" | sed "s|.*|$MNT/repos/acme/infra/-/d/-/workspace-&@many|" | xargs touch
long=$(printf '%8000s' '' | tr ' ' x)
for i in $(seq 100); do
	touch "$MNT/global/first-$i@many"
	printf 'a=%s\nb=%s\n' "$long" "$long" >>"$MNT/global/first-$i@many"
done
before=$(anonymous)
fds=()
for _ in $(seq 40); do
	exec {fd}<"$MNT/locks.jsonl"
	fds+=("$fd")
	read -r -N 4096 text <&"$fd"
	[ "${#text}" -eq 4096 ] || fail "read ${#text} bytes"
done
after=$(anonymous)
echo "$before kB, then $after kB"
lines=0
for fd in "${fds[@]}"; do
	[ "$lines" -gt 0 ] || lines=$(wc -l <&"$fd")
	exec {fd}<&-
done
[ "$lines" -ge $((many - 1)) ] || fail "$lines lines of $many were left to read"
# A sanitizer keeps what was freed.
[ "$TIME_FACTOR" -ne 1 ] || [ $((after - before)) -le 4096 ] || fail "40 open lists took $((after - before)) kB"
