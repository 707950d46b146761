#!/bin/bash
# At most 64 keys and 16 KiB of one's own; up to that, writes of any size and in any pieces arrive whole.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/custom/x
own() { sed '1,/^waiters=/d' "$lock"; }
expect_ok touch "$lock"

for i in $(seq 64); do echo "key$i=value$i"; done >"$T/64"
cat "$T/64" >"$lock"
expect_equal "$(own)" "$(cat "$T/64")"
expect_fail 'Disk quota exceeded' bash -c 'echo key65=1 >> "$1"' sh "$lock"
grep -q 64 "$MNT/why" || fail "$(cat "$MNT/why")"
expect_equal "$(own)" "$(cat "$T/64")" 'a key too many'
echo key64=other >>"$lock"
expect_equal "$(field "$lock" key64)" other 'a key that is there may change'

# Sixteen keys of a thousand bytes, in one write(2), by cat, by dd in small and odd blocks, and by stdio.
for i in $(seq 16); do printf 'big%d=%0995d\n' "$i" "$i"; done >"$T/big"
[ "$(stat -c %s "$T/big")" -le 16384 ] || fail "bad test"
for how in '"$SYS" open "$1" wronly,trunc + writefile "$2"' 'cat "$2" >"$1"' 'dd if="$2" of="$1" bs=512 status=none' \
	'dd if="$2" of="$1" bs=777 status=none' 'dd if="$2" of="$1" bs=4096 status=none' 'sed "" "$2" >"$1"' \
	'awk 1 "$2" >"$1"' 'while read -r l; do echo "$l"; done <"$2" >"$1"' 'cp "$2" "$1"'; do
	echo x=1 >"$lock"
	SYS=$SYS expect_ok bash -c "$how" sh "$lock" "$T/big"
	expect_equal "$(own | md5sum)" "$(md5sum <"$T/big")" "$how"
done
expect_equal "$(cat "$lock" | wc -c)" "$(stat -c %s "$lock")"

# One byte too many changes nothing.
expect_fail 'Disk quota exceeded' bash -c 'printf "more=%0500d\n" 1 >> "$1"' sh "$lock"
expect_equal "$(own | md5sum)" "$(md5sum <"$T/big")"
head -c 100000 /dev/zero | tr '\0' x >"$T/huge"
expect_errno EDQUOT open "$lock" wronly,append + writefile "$T/huge"
expect_fail 'Disk quota exceeded' sh -c 'cat "$2" > "$1"' sh "$lock" "$T/huge"
expect_equal "$(own | md5sum)" "$(md5sum <"$T/big")"
head -c 4000000 /dev/urandom >"$T/noise"
expect_fail '' sh -c 'cat "$2" > "$1"' sh "$lock" "$T/noise"
expect_equal "$(own | md5sum)" "$(md5sum <"$T/big")" 'random bytes'
expect_equal "$(field "$lock" state)" acquired

# A block without its newline may have been cut: it is taken at the close, or just after it where nobody said to write.
block=$(printf 'whole=%04090d' 7)
expect_equal ${#block} 4096
expect_ok "$SYS" open "$lock" wronly,trunc + write "$block"
expect_equal "$(field "$lock" whole)" "${block#whole=}"
expect_errno EINVAL open "$lock" wronly,append + write "bad key=$(printf '%04088d' 7)" + close
expect_ok "$SYS" open "$MNT/custom/y" wronly,creat,excl + write "$block"
wait_until '[ "$(field "$MNT/custom/y" whole)" = "${block#whole=}" ]'
expect_ok "$SYS" open "$MNT/custom/z" wronly,creat,excl + write "bad key=$(printf '%04088d' 7)" + close
wait_until 'grep -q "^INVALID_REQUEST: line 1" "$MNT/why"'
expect_equal "$(field "$MNT/custom/z" state)" acquired
