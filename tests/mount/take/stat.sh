#!/bin/bash
# What stat(2) of a lock and of its file system say.
. tests/mount/lib.sh

# stat makes sense: owner and group of the holder, mode, a size that is what cat prints, mtime = last renewed, steady inodes.
stat_of_a_lock() {
	needs_root
	mount_fs

	for lock in "$MNT/repos/acme/infra/-/modules/vpc/-/production" "$MNT/custom/x" "$MNT/global/apply"; do
		expect_ok as_user atlt1 touch "$lock@a"
		expect_equal "$(stat -c '%F %U %G %a %h' "$lock")" 'regular file atlt1 atlt1 644 1'
		inode=$(stat -c %i "$lock")
		for text in color=red 'note=a longer one' $'a=1\nb=2\nc=3'; do
			expect_ok as_user atlt1 sh -c 'printf "%s\n" "$2" >> "$1"' sh "$lock@a" "$text"
			expect_equal "$(stat -c %s "$lock")" "$(cat "$lock" | wc -c)"
			expect_equal "$(stat -c %s "$lock")" "$("$SYS" open "$lock" rdonly + size)"
		done
		# Who waits shows in the text, and so in the size.
		expect_ok touch "$MNT/queue/${lock#"$MNT/"}/normal@b"
		expect_equal "$(field "$lock" waiters)" 1
		expect_equal "$(stat -c %s "$lock")" "$(cat "$lock" | wc -c)"
		expect_equal "$(stat -c %.3Y "$lock")" "$(date -d "$(field "$lock" renewed_at)" +%s.%3N)" mtime
		was=$(stat -c %.9Y "$lock")
		expect_ok as_user atlt1 touch -c "$lock@a"
		[ "$(stat -c %.9Y "$lock")" \> "$was" ] || fail "mtime has not moved"
		expect_equal "$(stat -c %.3Y "$lock")" "$(date -d "$(field "$lock" renewed_at)" +%s.%3N)" 'mtime after a renewal'
		age=$(($(date +%s) - $(stat -c %Y "$lock")))
		[ "$age" -ge 0 ] && [ "$age" -lt $((60 * TIME_FACTOR)) ] || fail "mtime is $age s old"
		expect_equal "$(stat -c %i "$lock")" "$inode" 'inode after changes'
		expect_equal "$(ls -i "${lock%/*}" | awk -v n="${lock##*/}" '$2 == n { print $1 }')" "$inode" 'inode in the listing'
	done

	# Inodes outlive a remount; different files have different ones.
	list() { find "$MNT" -mindepth 1 -path "$MNT/queue/*" -prune -o -printf '%i %P\n' | sort; }
	inodes=$(list)
	expect_equal "$(cut -d' ' -f1 <<<"$inodes" | sort | uniq -d)" '' 'inodes used twice'
	remount_fs
	expect_equal "$(list)" "$inodes" 'inodes after a remount'

	# After the release and a new grant, another holder shows at once.
	lock=$MNT/custom/x
	expect_equal "$(stat -c %U "$lock")" atlt1
	rm -r "$MNT"/queue/*
	expect_ok as_user atlt1 rm "$lock@a"
	expect_ok as_user atlt2 touch "$lock"
	expect_equal "$(stat -c %U "$lock")" atlt2

	# Directories and the files of the root.
	expect_equal "$(stat -c '%F %a' "$MNT" "$MNT/repos" "$MNT/custom" "$MNT/global" "$MNT/repos/any/where/-/at/all")" 'directory 755
directory 777
directory 1777
directory 777
directory 777'
	for file in README health why; do
		expect_equal "$(stat -c '%F %a' "$MNT/$file" | sed 's/empty //')" 'regular file 444'
		# health counts what goes on behind it.
		wait_until '[ "$(stat -c %s "$MNT/$file")" = "$(cat "$MNT/$file" | wc -c)" ]'
	done
}

# df and stat -f show the locks that are held as used inodes, and the room that is left.
stat_of_the_file_system() {
	mount_fs

	used() { df --output=iused "$MNT" | tail -n 1 | tr -d ' '; }
	expect_equal "$(used)" 0
	expect_ok touch "$MNT"/custom/{a,b,c}
	expect_equal "$(used)" 3
	expect_ok rm "$MNT/custom/a"
	expect_equal "$(used)" 2
	expect_equal "$(df --output=source,fstype "$MNT" | tail -n 1 | tr -s ' ')" 'atlockfs fuse.atlockfs'
	[ "$(df --output=avail "$MNT" | tail -n 1)" -gt 1000 ] || fail "$(df "$MNT")"
	[ "$(df --output=iavail "$MNT" | tail -n 1)" -gt 1000 ] || fail "$(df -i "$MNT")"
	expect_equal "$(stat -f -c %l "$MNT")" 255
	[ "$(stat -f -c %f "$MNT")" -le "$(stat -f -c %b "$MNT")" ] || fail "$(stat -f "$MNT")"
}

behaviours stat_of_a_lock stat_of_the_file_system
