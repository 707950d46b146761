#!/bin/bash
# Runners that start at the same time on a machine without the test users all find them made.
# root
. "$(dirname "$0")/lib.sh"
unshare --mount --propagation private true 2>/dev/null || skip 'no mount namespaces'

# A slow one, so that they meet.
mkdir "$T/bin" "$T/etc"
cat >"$T/bin/useradd" <<END
#!/bin/sh
sleep 0.3
exec $(command -v useradd) "\$@"
END
chmod +x "$T/bin/useradd"

# In an /etc of the test's own.
cat >"$T/fresh" <<'END'
set -e
cp -a /etc/passwd /etc/group /etc/shadow /etc/gshadow /etc/login.defs /etc/nsswitch.conf "$T/etc/"
mount --bind "$T/etc" /etc
# Not with userdel, which minds that other tests run as them.
sed -i '/^atlt[12]:/d' /etc/passwd /etc/group /etc/shadow /etc/gshadow
for _ in 1 2 3; do PATH=$T/bin:$PATH tests/users & pids+=($!); done
for pid in "${pids[@]}"; do wait "$pid"; done
id atlt1 && id atlt2
END
export T
expect_ok unshare --mount --propagation private bash "$T/fresh" >/dev/null
