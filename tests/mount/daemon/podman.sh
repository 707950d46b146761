#!/bin/bash
# The recipe of docs/RECIPES.md for containers, as Podman runs it, where Podman is installed and may run containers.
# root
. tests/mount/lib.sh
needs_own_mounts
command -v podman >/dev/null || skip 'no podman'

# No image is at hand: the container's root is a folder with the host's /usr.
image=$T/image
mkdir -p "$image"/{usr,locks,proc,dev,sys,tmp,etc,run} "$T/podman"
for name in bin sbin lib lib64; do
	ln -s "usr/$name" "$image/$name"
done
cat >"$image/deploy.sh" <<-'END'
	#!/bin/sh
	touch /tmp/deploying
	until [ -e /tmp/end ]; do sleep 0.02; done
	cat /locks/custom/deploy
END
chmod 755 "$image/deploy.sh"
chmod 1777 "$image/tmp"

# All that Podman keeps is in $T, under a short name, since without room for its sockets' names it waits 20 s for each container. It asks
# for nothing that a host of tests may lack: no network, no control groups, low limits.
mount --bind "$T/podman" /mnt
cat >"$T/containers.conf" <<-END
	[containers]
	cgroups = "disabled"
	default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
	log_driver = "none"
	netns = "none"
	volumes = ["/usr:/usr:ro"]
	[engine]
	cgroup_manager = "cgroupfs"
	events_logger = "none"
	lock_type = "file"
	runtime = "crun"
	tmp_dir = "/mnt/tmp"
END
cat >"$T/storage.conf" <<-END
	[storage]
	driver = "vfs"
	graphroot = "/mnt/graph"
	runroot = "/mnt/run"
END
export CONTAINERS_CONF=$T/containers.conf CONTAINERS_STORAGE_CONF=$T/storage.conf

# crun knows control groups of one version only, even if it is to leave them alone.
[ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ] || mount -t cgroup2 none /sys/fs/cgroup || skip 'no control groups'
podman run --rm --rootfs "$image" true >"$T/out" 2>&1 || skip "podman runs no containers here: $(tail -n 1 "$T/out")"

mount_fs
line=$(grep '^podman run ' docs/RECIPES.md) || fail "no recipe"
[[ $line =~ ^podman\ run\ (.*)\ docker\.io/[^\ ]*\ (.*)$ ]] || fail "what is the image of: $line"
options=${BASH_REMATCH[1]/"-v /locks:"/"-v $MNT:"} job=${BASH_REMATCH[2]}

# The recipe with an option more, and this command instead of its own if there is one.
container() {
	local more=$1
	shift
	# shellcheck disable=SC2086 # words of the recipe
	[ $# -gt 0 ] || set -- $job
	# shellcheck disable=SC2086
	podman run $options $more --rootfs "$image" "$@" </dev/null
}

# The job of the recipe keeps others out, in containers and outside.
container --name=job >"$T/said" &
first=$!
wait_until '[ -e "$image/tmp/deploying" ]'
expect_equal "$(field "$MNT/custom/deploy" owner)" root
expect_status 1 container --name=second flock -n /locks/custom/deploy touch /tmp/second
expect_fail busy container --name=third sh -c 'touch "/locks/custom/deploy@pid:$$"'
expect_status 1 flock -n "$MNT/custom/deploy" true
[ ! -e "$image/tmp/second" ] || fail "not kept apart"

# A step of it, with a lock as long as it lives; its number inside is not the one outside.
expect_ok podman exec job sh -c 'grep -q ^owner=root /locks/custom/deploy && touch "/locks/custom/step@pid:$$" && test -e "/locks/custom/step@pid:$$"'
wait_until '[ ! -e "$MNT/custom/step" ]' 5
touch "$image/tmp/end"
expect_ok wait $first
expect_equal "$(field "$T/said" owner)" root
[ ! -e "$MNT/custom/deploy" ] || fail "left behind"

# Where root inside is another user outside, the locks are that user's. A container that is killed leaves no lock.
rm "$image/tmp/end" "$image/tmp/deploying"
uid=$(id -u atlt1)
container "--name=mapped --uidmap=0:$uid:1 --gidmap=0:$(id -g atlt1):1" >"$T/said" 2>&1 &
second=$!
wait_until '[ -e "$image/tmp/deploying" ]'
expect_equal "$(field "$MNT/custom/deploy" owner),$(stat -c %U "$MNT/custom/deploy")" atlt1,atlt1
expect_fail 'Permission denied' as_user atlt2 rm "$MNT/custom/deploy"
expect_ok podman kill --signal KILL mapped
wait_until '[ ! -e "$MNT/custom/deploy" ]' 5
expect_status 137 wait $second
