#!/bin/bash
# atlock tells what it can do, and what a mistyped word was meant to be. Each help fits a screen.
. "$(dirname "$0")/lib.sh"

expect_status 0 "$ATLOCK" --version
grep -q '^atlock [0-9]' "$T/out" || fail "no version"
expect_status 0 "$ATLOCK" --help
cp "$T/out" "$T/help"
expect_status 0 "$ATLOCK" help
cmp -s "$T/out" "$T/help" || fail "help is not --help"
expect_status 64 "$ATLOCK"
cmp -s "$T/err" "$T/help" || fail "no help without words"

commands=$(sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' "$T/help")
[ "$(wc -w <<<"$commands")" -ge 2 ] || fail "no commands are listed"
for command in $commands; do
	expect_status 0 "$ATLOCK" help "$command"
	grep -q "^usage: atlock $command" "$T/out" || fail "help $command does not begin with its usage"
	[ "$(wc -l <"$T/out")" -le 24 ] || fail "help $command does not fit a screen"
	[ "$(wc -L <"$T/out")" -le 100 ] || fail "help $command is too wide"
	[ "$command" = help ] && continue
	cp "$T/out" "$T/one"
	expect_status 0 "$ATLOCK" "$command" --help
	cmp -s "$T/out" "$T/one" || fail "$command --help is not help $command"
	expect_status 64 "$ATLOCK" "$command" --no-such-option
	expect_status 64 "$ATLOCK" "$command" -m
	[ -z "$(tr -d '[:print:][:space:]' <"$T/err")" ] || fail "colours without a terminal"
done

expect_status 64 "$ATLOCK" sttaus
expect_equal "$(cat "$T/err")" 'atlock: there is no command "sttaus": did you mean "status"?'
expect_status 64 "$ATLOCK" help hlep
expect_equal "$(cat "$T/err")" 'atlock: there is no command "hlep": did you mean "help"?'
expect_status 64 "$ATLOCK" frobnicate
expect_equal "$(cat "$T/err")" "atlock: there is no command \"frobnicate\"; try 'atlock help'"
expect_status 74 sh -c 'exec "$1" --help > /dev/full' sh "$ATLOCK"
