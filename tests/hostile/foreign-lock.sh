#!/bin/bash
# A user who tries to take, change or release another user's lock is refused, whatever the call and the tree, and the lock's
# text stays as it was.
# root
. tests/mount/lib.sh
mount_fs -o allow_other

attempt() {
	local lock=$1 said
	shift
	! said=$(as_user atlt2 "$@" 2>&1) || fail "$* of ${lock#"$MNT/"} succeeded: $said"
	expect_equal "$(cat "$lock")" "$before" "$* changed ${lock#"$MNT/"}"
}

mkdir -m 777 "$MNT/custom/open"
for lock in repos/acme/infra/-/modules/vpc/-/production global/apply-window custom/open/deploy; do
	lock=$MNT/$lock
	as_user atlt1 sh -c 'umask 0; echo reason=mine >"$1@build-17"' - "$lock"
	before=$(cat "$lock")
	attempt "$lock" touch "$lock"
	attempt "$lock" touch -d '+1 hour' "$lock"
	attempt "$lock" touch -d @0 "$lock"
	attempt "$lock" rm -f "$lock"
	attempt "$lock" rm "$lock@build-17"
	attempt "$lock" mv "$lock" "$lock.old"
	attempt "$lock" mv "$lock" "$MNT/custom/open/other"
	attempt "$lock" ln "$lock" "$lock.link"
	attempt "$lock" ln -sf /etc/passwd "$lock"
	attempt "$lock" truncate -s 0 "$lock"
	attempt "$lock" chmod 000 "$lock"
	attempt "$lock" chown atlt2 "$lock"
	attempt "$lock" flock -n "$lock" true
	attempt "$lock" flock -ns "$lock" true
	attempt "$lock" cp --remove-destination /etc/hostname "$lock"
	attempt "$lock" setfattr -n user.atlock.owner -v atlt2 "$lock"
	attempt "$lock" setfattr -n user.atlock.reason -v yours "$lock"
	for line in reason=yours owner=atlt2 ttl=never ttl=0 transfer=atlt2 release=now; do
		attempt "$lock" sh -c 'echo "$2" >>"$1"' - "$lock" "$line"
		attempt "$lock" sh -c 'echo "$2" >"$1"' - "$lock" "$line"
		attempt "$lock" sh -c 'echo "$2" >"$1@build-17"' - "$lock" "$line"
	done
	for flags in wronly rdwr wronly,trunc wronly,append wronly,creat,excl rdwr,creat wronly,direct; do
		attempt "$lock" "$SYS" open "$lock" "$flags"
	done
	attempt "$lock" "$ATLOCK" -m "$MNT" unlock "$lock"
	attempt "$lock" "$ATLOCK" -m "$MNT" force-unlock "$lock"
	expect_ok as_user atlt1 rm "$lock@build-17"
done
