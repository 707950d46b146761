#!/bin/bash
# root
# timeout: 120
# What the kernel keeps in pages of a file (mmap, sendfile, splice) is for the user who read it: another user who has the same file
# open finds his own text there, while the first keeps his in use.
. tests/mount/lib.sh
echo 'deny atlt2 read=password **' >"$T/policy"
mount_fs -o allow_other,policy="$T/policy"
lock=$MNT/custom/l
mkdir "$MNT/custom/closed"
chmod 700 "$MNT/custom/closed"
touch "$lock@x" "$MNT/custom/closed/unseen@x"
printf 'password=s3cret\n' >>"$lock@x"
expect_fail 'not permitted' touch "$MNT/health"
expect_fail 'not permitted' as_user atlt2 mknod "$MNT/custom/fifo" p

# What is for root alone, and where.
declare -A secrets=(["$lock"]=s3cret ["$MNT/locks.jsonl"]=unseen ["$MNT/why"]=health ["$MNT/events/live"]=unseen)

# Root keeps each file open, and its pages in use, while atlt2 reads it.
for file in "${!secrets[@]}"; do
	hidden=${secrets[$file]}
	rm -f "$T/ready" "$T/enough"
	"$SYS" open "$file" rdonly + mapread + mark "$T/ready" + await "$T/enough" >"$T/root" &
	keeper=$!
	"$SYS" open "$file" rdonly + sendfile + mark "$T/ready2" + await "$T/enough" > >(cat >"$T/root2") &
	keeper2=$!
	wait_until '[ -e "$T/ready" ] && [ -e "$T/ready2" ]'
	grep -qE "$hidden" "$T/root" || fail "root does not see all of $file"
	for way in mapread sendfile splice readall pread; do
		as_user atlt2 "$SYS" open "$file" rdonly + "$way" | cat >"$T/got"
		[ -s "$T/got" ] || fail "$file is empty by $way"
		! grep -E "$hidden" "$T/got" || fail "shown of $file by $way"
	done
	# The other way round: root sees what the page cache was filled with by another.
	as_user atlt2 "$SYS" open "$file" rdonly + mapread + fork + mark "$T/enough2" >/dev/null
	"$SYS" open "$file" rdonly + sendfile | cat >"$T/got"
	grep -qE "$hidden" "$T/got" || fail "hidden from root in $file"
	# A descriptor that root has open is not opened again by another user, to have his own text put where root reads.
	expect_fail 'EACCES' as_user atlt2 "$SYS" open /proc/self/fd/9 rdonly + mapread 9<"$file"
	touch "$T/enough"
	wait "$keeper" "$keeper2"
	rm -f "$T/ready2" "$T/enough2"
done

# He has the file open already when root reads it, and reads it then.
for file in "${!secrets[@]}"; do
	for way in mapread sendfile splice; do
		rm -f "$T/opened" "$T/go" "$T/ready" "$T/enough"
		as_user atlt2 "$SYS" open "$file" rdonly + mark "$T/opened" + await "$T/go" + "$way" | cat >"$T/got" &
		other=$!
		wait_until '[ -e "$T/opened" ]'
		"$SYS" open "$file" rdonly + mapread + mark "$T/ready" + await "$T/enough" >"$T/root" &
		keeper=$!
		wait_until '[ -e "$T/ready" ]'
		: >"$T/go"
		expect_ok wait "$other"
		[ -s "$T/got" ] || fail "$file is empty by $way"
		! grep -F "${secrets[$file]}" "$T/got" || fail "shown of $file by $way"
		: >"$T/enough"
		expect_ok wait "$keeper"
	done
done

# Both at once, many times over.
as_user atlt2 bash -c 'for i in $(seq 60); do "$1" open "$2" rdonly + sendfile | cat; "$1" open "$2" rdonly + mapread; done' \
	bash "$SYS" "$lock" >"$T/two" &
other=$!
for _ in $(seq 60); do
	"$SYS" open "$lock" rdonly + mapread
	"$SYS" open "$lock" rdonly + sendfile | cat
done >"$T/one"
expect_ok wait "$other"
expect_equal "$(grep -c '^password=s3cret$' "$T/one")" 120
expect_equal "$(grep -c '^password=\[hidden\]$' "$T/two")" 120
expect_equal "$(grep -c s3cret "$T/two" || true)" 0

# What is the same for all is for all: a user who has README open keeps it from none, nor the other way round.
exec 8<"$MNT/README"
expect_ok as_user atlt2 cat "$MNT/README"
exec 8<&-
rm -f "$T/opened" "$T/enough"
as_user atlt2 "$SYS" open "$MNT/README" rdonly + mark "$T/opened" + await "$T/enough" &
other=$!
wait_until '[ -e "$T/opened" ]'
expect_ok as_user atlt1 cat "$MNT/README"
: >"$T/enough"
expect_ok wait "$other"
