#!/bin/bash
# root
# Who may do what, users x calls x trees x holders, is as docs/SECURITY.md has it. WRITE=1 writes the table there.
. tests/mount/lib.sh
here=$(realpath "$(dirname "$0")")
manual=$here/../../docs/SECURITY.md
mount_fs -o allow_other,sync=off

python3 "$here/permission-matrix.py" "$MNT" >"$T/table"
cat "$T/table"
sed -n '/^<!-- permission-matrix: begin/,/^<!-- permission-matrix: end/{//!p}' "$manual" >"$T/told"
if [ "${WRITE:-0}" = 1 ]; then
	sed -i -e "/^<!-- permission-matrix: begin/r $T/table" -e '/^<!-- permission-matrix: begin/,/^<!-- permission-matrix: end/{//!d}' "$manual"
	exit 0
fi
diff "$T/told" "$T/table" || fail 'docs/SECURITY.md tells otherwise (<) than what was seen (>)'
