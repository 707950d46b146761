#!/bin/bash
# The fields of a lock are extended attributes; the user's own keys can be set and removed by the holder.
. tests/mount/lib.sh
mount_fs

lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
get() { getfattr --absolute-names --only-values -n "user.$1" "$lock"; }
expect_ok touch "$lock"
for key in id state type repo dir workspace project owner who uid host pid priority token version acquired_at renewed_at \
	expires_at ttl waiters; do
	expect_equal "$(get $key)" "$(field "$lock" $key)" "$key"
done
expect_equal "$(getfattr --absolute-names "$lock" | sed -n 's/^user\.//p' | sort)" "$(cut -d= -f1 "$lock" | sort)"

expect_ok setfattr -n user.color -v red "$lock"
expect_equal "$(field "$lock" color),$(get color)" red,red
expect_ok setfattr -n user.reason -v 'two words = 2' "$lock"
expect_equal "$(field "$lock" reason)" 'two words = 2'
expect_ok setfattr -n user.color -v '' "$lock"
expect_equal "$(field "$lock" color),$(get color)" ,
expect_ok setfattr -x user.color "$lock"
! grep -q '^color=' "$lock" || fail "not removed"
expect_equal "$(field "$lock" reason)" 'two words = 2'

# Flags, and room.
expect_errno EEXIST setxattr "$lock" user.reason x create
expect_errno ENODATA setxattr "$lock" user.size x replace
expect_ok "$SYS" setxattr "$lock" user.size 1 create
expect_ok "$SYS" setxattr "$lock" user.size 2 replace
expect_equal "$(get size)" 2
expect_errno ERANGE getxattr "$lock" user.reason 3
expect_errno ENODATA getxattr "$lock" user.nothing
expect_errno ENODATA removexattr "$lock" user.nothing

# What the manager keeps, what is no line, and what is nobody's.
before=$(cat "$lock")
for key in token owner who ttl id state version expires_at waiters; do
	expect_errno EPERM setxattr "$lock" "user.$key" 1
done
expect_errno EINVAL setxattr "$lock" user.bad $'a\nwho=me'
expect_errno EINVAL setxattr "$lock" 'user.bad key' 1
expect_errno EINVAL setxattr "$lock" 'user.a=b' 1
expect_errno EOPNOTSUPP setxattr "$lock" trusted.x 1
expect_errno EOPNOTSUPP setxattr "$lock" security.x 1
expect_errno EOPNOTSUPP getxattr "$lock" security.selinux
expect_equal "$(cat "$lock")" "$before"
expect_fail '' in_session setfattr -n user.color -v blue "$lock"
expect_fail '' in_session setfattr -x user.reason "$lock"
expect_equal "$(cat "$lock")" "$before" 'another session changed it'
if [ "$(id -u)" -eq 0 ]; then
	expect_fail 'Permission denied' as_user atlt1 setfattr -n user.color -v blue "$lock"
	expect_equal "$(as_user atlt1 getfattr --absolute-names --only-values -n user.token "$lock")" "$(field "$lock" token)"
fi
for i in $(seq 62); do setfattr -n "user.k$i" -v "$i" "$lock"; done
expect_errno EDQUOT setxattr "$lock" user.k63 1
expect_equal "$(getfattr --absolute-names "$lock" | grep -c '^user\.')" 84

# A free lock has none, nor have directories.
expect_ok rm "$lock"
expect_errno ENOENT getxattr "$lock" user.token
expect_errno ENODATA getxattr "$MNT/repos" user.token
expect_ok getfattr --absolute-names -d "$MNT/custom"
