#!/bin/bash
# A test that fails is a failure. With AGAIN it may fail once, and the last line names it.
. "$(dirname "$0")/lib.sh"

# Fails the first time.
cat >"$T/once" <<'END'
#!/bin/sh
[ -e "$0.ran" ] || { : >"$0.ran"; echo 'the first time'; exit 1; }
END
chmod +x "$T/once"

expect_status 1 env AGAIN=0 tests/run true "$T/once" true
expect_equal "$(tail -n 1 "$T/out")" '2 passed, 1 failed'
rm "$T/once.ran"
expect_status 0 env AGAIN=1 tests/run true "$T/once" true
expect_equal "$(tail -n 1 "$T/out")" "3 passed, 0 failed; run again: $T/once"
grep -q 'the first time' "$T/out" || fail 'not shown'
expect_status 1 env AGAIN=1 tests/run true false
expect_equal "$(tail -n 1 "$T/out")" '1 passed, 1 failed; run again: false'
rm "$T/once.ran"
expect_status 1 env AGAIN=1 tests/run "$T/once" false
expect_equal "$(tail -n 1 "$T/out")" '0 passed, 2 failed' 'more than one'

# What a runner inside says is passed on.
cat >"$T/inner" <<'END'
#!/bin/sh
echo '5 passed, 0 failed; run again: mount/x.sh (build), mount/y.sh (build)'
END
chmod +x "$T/inner"
expect_status 0 tests/run true "$T/inner"
expect_equal "$(tail -n 1 "$T/out")" '6 passed, 0 failed; run again: mount/x.sh (build), mount/y.sh (build)'
expect_status 2 tests/mount/run no-such-test
