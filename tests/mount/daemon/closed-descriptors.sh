#!/bin/bash
# Standard input, output and error may be closed, any of them: the launcher returns when the mount answers, no lock gets what is
# meant for a terminal, and what cannot be printed is an error.
. tests/mount/lib.sh

# Runs a command without the descriptors whose numbers are given.
without() {
	(
		local fd
		for fd in $1; do eval "exec $fd>&-"; done
		shift
		exec "$@"
	)
}

for closed in 0 1 2 '0 1' '0 2' '1 2' '0 1 2'; do
	without "$closed" timeout 60 "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$MNT" || fail "status $? without $closed"
	is_mounted || fail "returned before it was mounted, without $closed"
	daemon=$(pgrep -f -- "--store $STORE $MNT\$")
	expect_ok touch "$MNT/custom/x@a"
	expect_ok rm "$MNT/custom/x@a"
	for fd in 0 1 2; do
		expect_equal "$(readlink "/proc/$daemon/fd/$fd")" /dev/null "of the daemon, without $closed"
	done
	wait_until 'fusermount3 -u "$MNT" 2>/dev/null'
	wait_until "is_gone $daemon"
done

# A mount that fails says so by its status if it cannot in words.
if without '0 1 2' timeout 60 "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$T/none"; then fail 'mounted nowhere'; fi

mount_fs
for closed in 0 1 2 '0 1 2'; do
	status=0
	without "$closed" "$ATLOCK" -m "$MNT" lock --reason why custom/y 2>/dev/null || status=$?
	case $closed in
	*1*)
		expect_equal "$status" 74 "without $closed"
		[ ! -e "$MNT/custom/y" ] || fail "held, and its token lost, without $closed"
		;;
	*)
		expect_equal "$status" 0 "without $closed"
		expect_equal "$(field "$MNT/custom/y" reason)" why "without $closed"
		without "$closed" "$ATLOCK" -m "$MNT" unlock custom/y || fail "status $? without $closed"
		;;
	esac
done

# The disk that output goes to is full. What was held before stays.
expect_ok touch "$MNT/custom/mine"
for command in "$ATLOCKFS_BUILD/atlockfs --help" "$ATLOCKFS_BUILD/atlockfs --version" "$ATLOCK --help" "$ATLOCK --version" \
	"$ATLOCK help --all" "$ATLOCK lock --help" "$ATLOCK completion bash" "$ATLOCK -m $MNT status" "$ATLOCK -m $MNT doctor" \
	"$ATLOCK -m $MNT lock custom/z" "$ATLOCK -m $MNT wait custom/z" "$ATLOCK -m $MNT wait custom/mine" "$ATLOCK -m $MNT ls" \
	"$ATLOCK -m $MNT show custom/mine" "$ATLOCK -m $MNT audit show" "$ATLOCK -m $MNT export --format jsonl"; do
	# shellcheck disable=SC2086 # a command line
	expect_fail 'No space left on device' sh -c '"$@" >/dev/full' - $command
done
[ ! -e "$MNT/custom/z" ] || fail 'held, and its token lost'
[ -e "$MNT/custom/mine" ] || fail 'what was held before is gone'
