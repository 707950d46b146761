#!/bin/bash
# What runs these scripts.
. tests/mount/lib.sh

# A test that fails is a failure. With AGAIN it may fail once, and the last line names it.
again() {
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

	expect_status 2 tests/mount/run no-such-test
}

# JOBS tests run at a time, in the order given, scripts with the line "# long" first; one that cannot run here is none of those that passed.
order() {
	printf 'echo "$0 begins" >>"%s"\n' "$T/log" >"$T/short.sh"
	{
		echo '# long'
		cat "$T/short.sh"
	} >"$T/long.sh"
	expect_status 0 env JOBS=1 tests/run "bash $T/short.sh" true "bash $T/long.sh"
	expect_equal "$(cat "$T/log")" "$T/long.sh begins"$'\n'"$T/short.sh begins"

	cat >"$T/count.sh" <<'END'
mkdir "$1/running.$$"
ls -d "$1"/running.* | wc -l >>"$1/counts"
sleep 0.2
rmdir "$1/running.$$"
END
	printf 'bash %s %s\n' "$T/count.sh" "$T" "$T/count.sh" "$T" "$T/count.sh" "$T" "$T/count.sh" "$T" >"$T/list"
	expect_status 0 env JOBS=2 tests/run <"$T/list"
	expect_equal "$(tail -n 1 "$T/out")" '4 passed, 0 failed'
	expect_equal "$(sort -n "$T/counts" | tail -n 1)" 2 'at a time'

	printf 'echo no such thing here; exit 77\n' >"$T/skip.sh"
	expect_status 0 tests/run "bash $T/skip.sh" true
	expect_equal "$(tail -n 2 "$T/out")" $'1 skipped\n1 passed, 0 failed'
	grep -qE '^skip .*: no such thing here$' "$T/out" || fail "no reason: $(cat "$T/out")"
}

# A script of several behaviours names the one that failed, runs what comes after one that was skipped, and leaves nothing.
named() {
	cat >"$T/several.sh" <<'END'
. tests/mount/lib.sh
sound() { mount_fs && touch "$MNT/custom/x"; }
skipped() { skip 'not here'; }
broken() { mount_fs && [ -e "$MNT/custom/x" ]; }
behaviours "$@"
END
	run_several() {
		rm -rf "$T/stores"
		mkdir "$T/stores"
		expect_status "$1" env T="$T" STORE="$T/stores/store" TIME_FACTOR="$TIME_FACTOR" bash "$T/several.sh" "${@:2}"
	}
	run_several 0 sound
	rm -r "${T%/*}/sound.d"
	run_several 77 skipped sound
	grep -qx 'skipped was skipped' "$T/out" || fail "said $(cat "$T/out")"
	rm -r "${T%/*}"/{sound,skipped}.d
	run_several 1 sound broken skipped
	grep -q 'this failed: broken' "$T/err" || fail "said $(cat "$T/err")"
	[ ! -d "${T%/*}/skipped.d" ] || fail 'went on'
}

# A server that a test starts gets another port where the first one is taken, and its own again when it is started again.
ports() {
	server=(python3 -m http.server --bind 127.0.0.1 --directory "$T" '{port}')

	RANDOM=1
	server_start "${server[@]}"
	first=$SERVER taken=$PORT
	PORT=
	RANDOM=1
	server_start "${server[@]}"
	[ "$PORT" -ne "$taken" ] || fail 'both at one port'
	again=$PORT
	server_stop
	server_start "${server[@]}"
	expect_equal "$PORT" "$again"
	server_stop
	kill "$first"
	wait "$first" || true
}

# Runners that start at the same time on a machine without the test users all find them made.
users() {
	needs_root
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
}

behaviours again order named ports users
