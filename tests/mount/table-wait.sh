#!/bin/bash
# root
# Reading or writing wait/<lock> takes a free lock, returns at once on one's own, and waits for another's.
. "$(dirname "$0")/table.inc"

want=([free]=ok [mine]=ok)
after=([free]=actor [mine]=same)
run_own() {
	local lock asks
	for lock in repos/acme/infra/-/modules/vpc/-/production custom/nightly global/apply; do
		for asks in $ACTORS; do
			run_cell "$MNT/$lock" '' "$asks"
			run_cell "$MNT/$lock" "$asks" "$asks"
		done
	done
}
waiting() { echo "$MNT/wait/${1#"$MNT/"}"; }
call() { outcome "$2" cat "$(waiting "$1")"; }
run_own
call() { outcome "$2" sh -c 'echo priority=high > "$1"' sh "$(waiting "$1")"; }
run_own
for lock in repos/acme/infra/-/modules/vpc/-/production custom/nightly global/apply; do free_lock "$MNT/$lock"; done

# Another's: in the queue until it is let go, then held, and the read prints the lock.
n=0
for lock in repos/acme/infra/-/modules/vpc/-/production custom/nightly global/apply; do
	for asks in b:atlt1 a:atlt2 a:root; do
		for how in 'cat "$1"' 'echo priority=high > "$1"'; do
			n=$((n + 1))
			expect_ok actor a:atlt1 touch "$MNT/$lock"
			actor "$asks" sh -c "{ $how; echo \"status \$?\"; } >\"\$2\" 2>&1 &" sh "$MNT/wait/$lock" "$T/out-$n"
			wait_until '[ "$(field "$MNT/$lock" waiters)" = 1 ]'
			expect_held "$MNT/$lock" a:atlt1
			expect_equal "$(cat "$T/out-$n")" ''
			expect_ok actor a:atlt1 rm "$MNT/$lock"
			wait_until 'grep -q status "$T/out-$n"'
			expect_equal "$(tail -n 1 "$T/out-$n")" 'status 0'
			expect_held "$MNT/$lock" "$asks"
			[[ $how != cat* ]] || grep -qx "owner=${asks#*:}" "$T/out-$n" || fail "$(cat "$T/out-$n")"
			expect_ok actor "$asks" rm "$MNT/$lock"
		done
	done
done
