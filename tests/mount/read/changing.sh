#!/bin/bash
# long
# root
# timeout: 120
# A lock that changes all the time, its length too, is read as it is, whole, by every way: no old text from the kernel's pages, no
# text that is cut off, no error but that it is gone.
. tests/mount/lib.sh
mount_fs
lock=$MNT/repos/acme/infra/-/modules/vpc/-/production

# What is acknowledged is read by who opens the file then.
session_start a
session_start b
for i in 1 7 20 3; do
	for who in a b; do
		expect_ok session $who touch "$lock"
		sid=$(session $who sh -c 'ps -o sid= -p $$ | tr -d " "')
		expect_ok session $who sh -c 'echo "note=$2" >>"$1"' sh "$lock" "$(printf "%0$((i * i * 8))d" 0)"
		for way in sendfile mapread splice readall; do
			"$SYS" open "$lock" rdonly + $way | cat >"$T/got"
			expect_equal "$(field "$T/got" who)" "sid:$sid" "$way, round $i"
			expect_equal "$(field "$T/got" note | tr -d '\n' | wc -c)" $((i * i * 8)) "$way, round $i"
		done
		expect_ok session $who rm "$lock"
	done
done

# A shell that reads line by line has read all of it, and seeks back: it goes on with the text that it began with.
expect_ok touch "$lock"
cat "$lock" >"$T/before"
while read -r line; do
	[ -n "${changed:-}" ] || echo "note=changed" >>"$lock"
	changed=1
	echo "$line"
done <"$lock" >"$T/lines"
expect_ok cmp "$T/before" "$T/lines"
expect_ok rm "$lock"

# Many at once, of a lock that the kernel may keep in mind, and of what never changes.
touch "$lock" "$MNT/custom/quiet"
pids=()
for file in "$lock" "$lock" "$MNT/custom/quiet" "$MNT/custom/quiet" "$MNT/README" "$MNT/health"; do
	bash -c 'for i in $(seq 40); do "$1" open "$2" rdonly + sendfile || exit; cat "$2" || exit; done' bash "$SYS" "$file" \
		2>"$T/err.${#pids[@]}" | cat >"$T/got.${#pids[@]}" &
	pids+=($!)
done
for i in "${!pids[@]}"; do
	wait "${pids[i]}" || fail "one of many readers: $(cat "$T/err.$i")"
done
rm "$lock" "$MNT/custom/quiet"

# Readers beside a writer.
(
	for i in $(seq 80); do
		touch "$lock" && printf 'a=%s\nz=end\n' "$(printf "%0$((i * 37 % 6000))d" 0)" >"$lock"
		[ $((i % 3)) -ne 0 ] || printf 'a=%s\n' "$(printf "%0$((i * 91 % 6000))d" 0)" >>"$lock"
		[ $((i % 7)) -ne 0 ] || rm "$lock"
	done
	rm -f "$lock"
	: >"$T/enough"
) &
writer=$!
whole() {
	[ "$(tail -c 1 "$T/got.$1" | od -An -c | tr -d ' ')" = '\n' ] || fail "cut off by $1: $(wc -c <"$T/got.$1") bytes, of which zeros: $(tr -dc "\0" <"$T/got.$1" | wc -c), the last line $(tail -n 1 "$T/got.$1" | tr -d "\0" | head -c 200)"
	tr -d '\0' <"$T/got.$1" | cmp - "$T/got.$1" || fail "zeros by $1"
}
reader() {
	local n=0 status
	until [ -e "$T/enough" ]; do
		status=0
		"$SYS" open "$lock" rdonly + "$1" 2>"$T/err.$1" | cat >"$T/got.$1" || status=$?
		case $status:$(cat "$T/err.$1") in
		0:) whole "$1" && n=$((n + 1)) ;;
		# Gone before it was opened, while it was read, and while its mapping was read: by the process, or by write(2) for it.
		1:'open: ENOENT' | 1:*': ESTALE' | 1:*': EIO' | 1:*': SIGBUS' | 1:'mapread: EFAULT') ! grep -q '^open: ESTALE' "$T/err.$1" || fail "$1: ESTALE" ;;
		*) fail "$1: status $status, $(cat "$T/err.$1")" ;;
		esac
	done
	[ "$n" -gt 0 ] || fail "$1 never read it"
}
pids=()
for way in sendfile mapread readall splice; do
	reader $way &
	pids+=($!)
done
expect_ok wait "$writer"
for pid in "${pids[@]}"; do expect_ok wait "$pid"; done
