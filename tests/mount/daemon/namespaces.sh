#!/bin/bash
# Callers in namespaces of their own.
# root
# timeout: 240
. tests/mount/lib.sh

# A caller in a mount namespace of its own, with the tree bind-mounted elsewhere, works on the same locks.
mount_namespace() {
	mount_fs

	mkdir "$T/locks"
	inside() {
		setsid -w unshare --mount bash -c 'mount --bind "$MNT" "$T/locks" && cd "$T/locks" && eval "$1"' - "$1"
	}

	expect_ok inside 'touch custom/x@inside && [ -e custom/x ]'
	expect_equal "$(field "$MNT/custom/x" who)" inside
	expect_fail 'busy' inside 'touch custom/x@other'
	inside 'cat wait/custom/x@second' >"$T/out" &
	waiter=$!
	wait_until '[ "$(field "$MNT/custom/x" waiters)" -eq 1 ]'
	expect_ok rm "$MNT/custom/x@inside"
	expect_ok wait $waiter
	expect_equal "$(field "$T/out" who)" second
	expect_ok inside 'rm custom/x@second'
	[ ! -e "$MNT/custom/x" ] || fail "still held outside"

	# Unmounting outside does not end what is mounted inside; the daemon serves it to its end.
	inside 'touch custom/y@in; : >"$T/ready"; until [ -e "$T/end" ]; do sleep 0.02; done; cat custom/y' >"$T/out" &
	waiter=$!
	wait_until '[ -e "$T/ready" ]'
	expect_ok umount "$MNT"
	daemon_alive || fail "the daemon left a mount behind"
	touch "$T/end"
	expect_ok wait $waiter
	expect_equal "$(field "$T/out" who)" in
	daemon_wait
}

# Root inside a user namespace is the ordinary user outside: no administrator, and no other user.
user_namespace() {
	mount_fs
	as_user atlt1 unshare --user --map-root-user true 2>/dev/null || skip "user namespaces are not allowed here"

	rooted() {
		local user=$1
		shift
		as_user "$user" setsid -w unshare --user --map-root-user "$@"
	}

	expect_equal "$(rooted atlt1 id -u)" 0
	expect_ok touch "$MNT/custom/roots@a"
	expect_ok as_user atlt2 touch "$MNT/custom/twos@b"
	for name in roots twos; do
		expect_fail 'Permission denied' rooted atlt1 rm "$MNT/custom/$name"
		expect_fail 'not permitted' rooted atlt1 chown 0 "$MNT/custom/$name"
	done
	for name in roots@a twos@b; do
		expect_fail 'No such file' rooted atlt1 rm "$MNT/custom/$name"
		expect_fail 'No such file' rooted atlt1 chown 0 "$MNT/custom/$name"
	done
	expect_fail 'Permission denied' rooted atlt1 touch "$MNT/custom/roots@a"
	expect_equal "$(field "$MNT/custom/roots" who)" a
	expect_equal "$(field "$MNT/custom/twos" owner)" atlt2
	expect_equal "$(stat -c %U "$MNT/custom/twos")" atlt2

	# It is its outer user, and shares his names.
	expect_ok rooted atlt1 touch "$MNT/custom/ones@c"
	expect_equal "$(field "$MNT/custom/ones" owner)" atlt1
	expect_ok as_user atlt1 rm "$MNT/custom/ones@c"

	# Two containers of one user are two holders, by session.
	rooted atlt1 unshare --pid --fork --mount-proc --kill-child setsid -w \
		bash -c 'touch "$1" && : >"$2/held" && until [ -e "$2/end" ]; do sleep 0.02; done' - "$MNT/custom/x" "$T" &
	first=$!
	wait_until '[ -e "$T/held" ]'
	expect_fail 'busy' rooted atlt1 unshare --pid --fork --mount-proc --kill-child setsid -w touch "$MNT/custom/x"
	expect_fail 'not permitted' rooted atlt1 unshare --pid --fork --mount-proc --kill-child setsid -w rm "$MNT/custom/x"
	expect_fail 'Permission denied' rooted atlt2 unshare --pid --fork --mount-proc --kill-child setsid -w touch "$MNT/custom/x"
	touch "$T/end"
	expect_ok wait $first
}

# Callers in pid namespaces of their own, as in containers: two of them are two holders although each is pid 1 to itself.
pid_namespace() {
	mount_fs

	contained=(setsid -w unshare --pid --fork --mount-proc --kill-child setsid -w)

	lock=$MNT/custom/x
	"${contained[@]}" bash -c 'touch "$1" && : >"$2/held" && until [ -e "$2/end" ]; do sleep 0.02; done' - "$lock" "$T" &
	first=$!
	wait_until '[ -e "$T/held" ]'
	expect_fail 'busy' "${contained[@]}" touch "$lock"
	expect_fail 'busy' touch "$lock"
	grep -q '^who=sid:' "$lock" || fail "held by $(field "$lock" who)"
	[ "$(field "$lock" who)" != sid:1 ] || fail "known by a number of its own"
	expect_ok "${contained[@]}" touch "$MNT/custom/y@build-17"
	expect_ok "${contained[@]}" rm "$MNT/custom/y@build-17"

	# A waiter inside dies with its container.
	"${contained[@]}" cat "$MNT/wait/custom/x@inside" >/dev/null 2>&1 &
	second=$!
	wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
	kill -KILL $second
	wait_until '[ "$(field "$lock" waiters)" -eq 0 ]' 5
	wait $second 2>/dev/null || true
	touch "$T/end"
	expect_ok wait $first

	# A flock inside ends with it too.
	"${contained[@]}" flock "$MNT/custom/z" bash -c ': >"$1/locked"; exec sleep 1000' - "$T" &
	third=$!
	wait_until '[ -e "$T/locked" ]'
	kill -KILL $third
	wait_until '[ ! -e "$MNT/custom/z" ]' 5
}

# @pid: inside is a process that the caller knows by that number: itself or an ancestor of it, never one of another container.
pid_inside() {
	mount_fs
	lock=$MNT/custom/x
	contained=(unshare --pid --fork --mount-proc --kill-child)

	# It ends with that process; outside it has the number that it has there.
	"${contained[@]}" bash -c 'bash -c "touch \"\$1@pid:\$\$\" && test -e \"\$1@pid:\$\$\" && : >\"\$2/held\" && exec sleep 1000" - "$1" "$2"
		: >"$2/over"; until [ -e "$2/end" ]; do sleep 0.02; done' - "$lock" "$T" &
	first=$!
	wait_until '[ -e "$T/held" ]'
	expect_equal "$(field "$lock" ttl)" never
	inside=$(field "$lock" who)
	expect_equal "$(tr '\0' ' ' <"/proc/${inside#pid:}/cmdline")" 'sleep 1000 '
	# The same number is another process in another container, and outside.
	inner=$(sed -n 's/^NSpid:.*\t//p' "/proc/${inside#pid:}/status")
	expect_fail 'busy' "${contained[@]}" bash -c 'touch "$1@pid:1"' - "$lock"
	expect_fail 'not permitted' "${contained[@]}" bash -c 'touch "$1@pid:4000000"' - "$lock"
	grep -q 'of your container' "$MNT/why" || fail "$(cat "$MNT/why")"
	expect_ok "${contained[@]}" bash -c 'for i in $(seq "$2"); do [ ! -e "$1@pid:$i" ] || exit 1; done' - "$lock" "$inner"
	[ ! -e "$lock@pid:$inner" ] || fail "known outside by its number inside"
	[ -e "$lock@$inside" ] || fail "not known outside by its number there"
	kill -KILL "${inside#pid:}"
	wait_until '[ ! -e "$lock" ]' 5
	touch "$T/end"
	expect_ok wait $first

	# Ancestors count up to the container's first process, and not beyond; a process that enters counts, too.
	expect_ok "${contained[@]}" bash -c 'bash -c "bash -c \"touch \\\"\$1@pid:1\\\" && rm \\\"\$1@pid:1\\\"\""' - "$lock"
	expect_fail 'not permitted' "${contained[@]}" bash -c 'touch "$1@pid:$2"' - "$lock" $$
	"${contained[@]}" bash -c ': >"$1/up"; until [ -e "$1/down" ]; do sleep 0.02; done' - "$T" &
	second=$!
	wait_until '[ -e "$T/up" ] && pgrep -P $second >/dev/null'
	first=$(pgrep -P $second)
	expect_ok nsenter -t "$first" -p -m bash -c 'touch "$1@pid:$$" && test -e "$1@pid:$$" && ! touch "$1@pid:1" 2>/dev/null && rm "$1@pid:$$"' - "$lock"
	# Queues and waits.
	expect_ok touch "$lock@other"
	nsenter -t "$first" -p -m bash -c 'touch "$1/queue/custom/x/high@pid:$$" && cat "$1/queue/custom/x/high@pid:$$" >"$2/ticket"; rm "$1/queue/custom/x/high@pid:$$"
		exec cat "$1/wait/custom/x@pid:$$"' - "$MNT" "$T" >"$T/out" &
	waiter=$!
	wait_until '[ "$(field "$lock" waiters)" -eq 1 ] && [ -s "$T/ticket" ]'
	expect_equal "$(field "$T/ticket" position)" 1
	expect_ok rm "$lock@other"
	expect_ok wait $waiter
	expect_equal "$(field "$T/out" who | cut -d: -f1)" pid
	wait_until '[ ! -e "$lock" ]' 5

	# atlock run needs no lease inside, and its command may note things.
	expect_ok nsenter -t "$first" -p -m "$ATLOCK" run -m "$MNT" -l custom/x -- \
		sh -c 'echo note=in >>"$ATLOCKFS/$ATLOCK_LOCK" && cat "$ATLOCKFS/$ATLOCK_LOCK@$ATLOCK_WHO"' >"$T/out"
	expect_equal "$(field "$T/out" ttl),$(field "$T/out" note)" never,in
	touch "$T/down"
	expect_ok wait $second
}

# What `docker run -v /locks:/locks` does, by hand: all namespaces of its own, the tree bind-mounted elsewhere, root inside an
# ordinary user outside. Two such jobs keep out of each other's way, and a step that is started in one of them joins it.
container_job() {
	mount_fs
	as_user atlt1 unshare --user --map-root-user true 2>/dev/null || skip "user namespaces are not allowed here"
	mkdir "$T/locks"
	# In there $L is the tree.
	container() {
		as_user atlt1 setsid -w unshare --user --map-root-user --mount --pid --ipc --uts --net --fork --mount-proc --kill-child \
			env L="$T/locks" T="$T" sh -c "mount --bind '$MNT' '$T/locks' && $1"
	}

	container 'flock $L/custom/deploy sh -c ": >\$T/first; until [ -e \$T/end ]; do sleep 0.02; done; cat \$L/custom/deploy"' >"$T/out" &
	first=$!
	wait_until '[ -e "$T/first" ]'
	expect_equal "$(field "$MNT/custom/deploy" owner),$(stat -c %U "$MNT/custom/deploy")" atlt1,atlt1
	expect_status 1 container 'flock -n $L/custom/deploy touch $T/second'
	expect_fail busy container 'touch $L/custom/deploy@pid:$$'
	# A step, as `docker exec` starts one: it sees the job's lock and can hold one of its own.
	inside=$(pgrep -n -u atlt1 -f "^sh -c : >.*first")
	expect_ok nsenter -t "$inside" -U -m -p -i -u sh -c 'grep -q ^owner=atlt1 "$1/custom/deploy" && touch "$1/custom/step@pid:$$" && test -e "$1/custom/step@pid:$$"' - "$T/locks"
	wait_until '[ ! -e "$MNT/custom/step" ]' 5
	touch "$T/end"
	expect_ok wait $first
	expect_equal "$(field "$T/out" owner)" atlt1
	[ ! -e "$T/second" ] && [ ! -e "$MNT/custom/deploy" ] || fail "not kept apart, or left behind"
	expect_ok container 'flock -n $L/custom/deploy touch $T/second'
	[ -e "$T/second" ] || fail "the second job did not run"
}

# A caller whom the daemon cannot see, because it runs in a pid namespace below, is nobody's session: EINVAL and the reason,
# unless he says who he is.
pid_unseen() {
	mkdir "$T/below"
	cat >"$T/below/atlockfs" <<-END
	#!/bin/sh
	exec unshare --pid --fork --kill-child "$ATLOCKFS_BUILD/atlockfs" "\$@"
END
	chmod 755 "$T/below/atlockfs"
	ATLOCKFS_BUILD=$T/below mount_fs

	expect_fail 'Invalid argument' touch "$MNT/custom/x"
	grep -q 'not visible' "$MNT/why" || fail "why says: $(cat "$MNT/why")"
	grep -q '@' "$MNT/why" || fail "why does not say what to do: $(cat "$MNT/why")"
	expect_fail 'Invalid argument' bash -c 'set -C; : >"$1"' - "$MNT/custom/x"
	expect_fail 'Invalid argument' cat "$MNT/wait/custom/x"
	expect_fail 'Invalid argument' touch "$MNT/queue/custom/x/normal"
	expect_fail 'Invalid argument' touch "$MNT/custom/x@pid:$$"
	[ ! -e "$MNT/custom/x" ] || fail "taken by nobody: $(cat "$MNT/custom/x")"

	expect_ok touch "$MNT/custom/x@me"
	expect_equal "$(field "$MNT/custom/x" who)" me
	expect_fail 'busy' touch "$MNT/custom/x@other"
	expect_ok touch -c "$MNT/custom/x@me"
	expect_ok rm "$MNT/custom/x@me"
	# A flock is known by its open file.
	expect_ok flock "$MNT/custom/x" true
}

behaviours mount_namespace user_namespace pid_namespace pid_inside container_job pid_unseen
