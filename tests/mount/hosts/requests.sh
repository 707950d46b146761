#!/bin/bash
# What calls cost at the server: a listing nothing, stat of a lock two barriers, a refusal at most five.
# root
. tests/mount/lib.sh
. tests/mount/hosts.inc

hosts_start -o host_timeout=2m,engine_timeout=20s
unmount_b # its own looks at the server would be counted, too

# Scripts that the server has run: commits and barriers.
scripts() { redis-cli -p "$PORT" info commandstats | tr -d '\r' | sed -n 's/^cmdstat_evalsha:calls=\([0-9]*\),.*/\1/p'; }

# cost COMMAND...: scripts that it made, in $COST, without the daemon's own, which looks four times a second and sweeps every second.
cost() {
	local before
	before=$(scripts)
	begun=$(date +%s%N)
	expect_ok "$@"
	took=$((($(date +%s%N) - begun) / 1000000))
	COST=$(($(scripts) - before - 10 * took / 1000))
}

expect_ok mkdir "$A/custom/d"
expect_ok touch "$A/custom/x@1"
python() { python3 - "$A"; }

cost python <<'EOF'
import os, sys
for i in range(300):
    assert sorted(os.listdir(sys.argv[1] + "/custom")) == ["d", "x"]
    assert b"custom/x" in open(sys.argv[1] + "/locks.jsonl", "rb").read()
EOF
[ "$COST" -lt 60 ] || fail "600 listings cost $COST scripts in $took ms"

cost python <<'EOF'
import os, sys
for i in range(300):
    os.stat(sys.argv[1] + "/custom/x@1")
EOF
[ "$COST" -gt 150 ] && [ "$COST" -lt 700 ] || fail "300 looks at a lock cost $COST scripts in $took ms"

cost python <<'EOF'
import errno, os, sys
for i in range(300):
    try:
        os.open(sys.argv[1] + "/custom/x@2", os.O_CREAT | os.O_WRONLY, 0o644)
        raise Exception("granted")
    except OSError as e:
        assert e.errno == errno.EBUSY, e
EOF
[ "$COST" -gt 150 ] && [ "$COST" -lt 1700 ] || fail "300 refusals cost $COST scripts in $took ms"

unmount_fs
server_stop
