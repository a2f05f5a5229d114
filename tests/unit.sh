#!/bin/sh
# unit.sh PROGRAM...: run unit tests, two at a time, and then tell of each in a line; what a failing
# one wrote is shown. Ends with how many test functions passed and failed. ${WRAP} is put in front of
# each; with an emulator there, ${EMULATOR} tells what that cannot do, for the tests to leave out. One
# that takes longer than ${LIMIT} seconds failed. What they wrote stays in ${KEEP}, if that is a directory.
set -u
passed=0 failed=0 skipped=0
if [ -n "${KEEP:-}" ]; then
	outs=$KEEP
	mkdir -p "$outs"
else
	outs=$(mktemp -d)
	trap 'rm -rf "$outs"' EXIT
fi
LIMIT=${LIMIT:-1800} WRAP=${WRAP:-} OUTS=$outs EMULATOR_LACKS= EMULATED=${EMULATOR:+${WRAP:-}}
# shellcheck disable=SC2086 # WRAP is words
[ -z "${EMULATOR:-}" ] || EMULATOR_LACKS=$(timeout "$LIMIT" $WRAP "$EMULATOR") || {
	echo "FAIL: $WRAP cannot run $EMULATOR"
	exit 1
}
[ -n "$WRAP" ] || [ -z "$EMULATOR_LACKS" ] || {
	echo "FAIL: this system itself lacks: $EMULATOR_LACKS"
	exit 1
}
export LIMIT WRAP OUTS EMULATOR_LACKS EMULATED

count() # count WORD: the number in cmocka's line for it
{
	sed -n "s/^\[  $1 *\] \(tests: \)\{0,1\}\([0-9]*\) test(s).*/\2/p" "$out" | head -n 1
}

# shellcheck disable=SC2016 # the inner shell expands it
printf '%s\n' "$@" | xargs -P 2 -I '{}' sh -c '
	mkdir -p "$OUTS/$(dirname "$1")"
	timeout -k 5 "$LIMIT" $WRAP "$1" >"$OUTS/$1.out" 2>&1 </dev/null
	echo $? >"$OUTS/$1.status"' unit '{}'

for program; do
	name=${program#*/tests/} out=$outs/$program.out
	status=$(cat "$outs/$program.status") || status=none
	good=$(count PASSED) bad=$(count FAILED) skip=$(count SKIPPED)
	good=${good:-0} bad=${bad:-0} skip=${skip:-0}
	# a program that died, or that ran no test, failed whatever it counted
	if [ "$status" != 0 ] || [ "$((good + skip))" -eq 0 ]; then
		[ "$bad" -gt 0 ] || bad=1
		case $status in
		124 | 137) echo "FAIL $name (not done in $LIMIT s)" ;;
		*) echo "FAIL $name (status $status)" ;;
		esac
		sed 's/^/     /' "$out"
	else
		echo "ok   $name ($good)"
		# a test that is skipped says why on a line of its own
		[ "$skip" -eq 0 ] || { echo "     $skip SKIPPED:" && grep -iv '^\[' "$out" | grep -i skip; }
	fi
	passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skip))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
