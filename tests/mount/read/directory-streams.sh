#!/bin/bash
# Directory streams: what is read while others come and go is whole, and telldir, seekdir and rewinddir lead back.
. tests/mount/lib.sh
mount_fs -o sync=off,max_queue=5000,admin_rm=any
DIRS=${SYS%/*}/dirs

# As many as make several steps of a listing, in each kind of directory that can have so many.
count=600
[ "$TIME_FACTOR" -eq 1 ] || count=250
make() {
	seq "$count" | sed "s|.*|$1|" | xargs touch
}

cd "$MNT"
mkdir custom/many
make 'custom/many/a-lock-whose-name-is-so-long-that-a-step-of-the-listing-has-few-of-them-and-there-are-many-steps-&@j'
make 'repos/acme/r&/-/d/-/production@j'
make 'repos/acme/infra/-/d/-/w&@pr:7'
seq "$count" | sed 's|.*|custom/many/dir-&|' | xargs mkdir
touch global/wanted
make 'queue/global/wanted/low@w&'
make 'owners/github.com/acme/infra/-/applications/app&'
mkdir shared/db
for i in $(seq "$count"); do
	echo planned >"pulls/github.com/acme/infra/-/7/projects/m$i/-/w"
	echo UP >"shared/db/apps/app$i"
done

listed() {
	expect_equal "$(ls -U "$1" | wc -l)" "$2" "names in $1"
	expect_equal "$(ls -U "$1" | sort -u | wc -l)" "$2" "different names in $1"
	"$DIRS" back "$1"
}
listed custom/many $((2 * count))
listed repos/acme $((count + 1))
listed repos/acme/infra/-/d/-/ "$count"
listed queue/global/wanted "$count"
listed pulls/github.com/acme/infra/-/7/projects "$count"
listed pulls/github.com/acme/infra/-/7/locks "$count"
listed owners/github.com/acme/infra/-/applications "$count"
listed shared/db/apps "$count"
listed by/owner/"$(id -un)" $((3 * count + 1))
listed by/who/j $((2 * count))
listed by/who 3
listed queue/global 1
listed config "$(find config -type f | wc -l)"

# Service order goes on over the steps.
expect_equal "$(ls -U queue/global/wanted | cut -d- -f1)" "$(ls queue/global/wanted | cut -d- -f1)" 'order of the queue'

# What was read is removed, and the place to go back to with it.
for percent in 0 1 30 77 99; do
	"$DIRS" change repos/acme/infra/-/d/-/ "$percent"
	make 'repos/acme/infra/-/d/-/w&@pr:7'
done
"$DIRS" remove repos/acme/infra/-/d/-/
expect_equal "$(ls repos/acme/infra/-/d/-/)" ''
rm -r custom/many
! [ -e custom/many ] || fail 'custom/many is still there'
rm -r pulls/github.com/acme/infra/-/7/projects
expect_equal "$(ls pulls/github.com/acme/infra/-/7/projects)" ''
cd /
