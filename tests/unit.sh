#!/bin/sh
# unit.sh PROGRAM...: run unit tests one after another, one line each; what a failing one wrote is
# shown. Ends with how many test functions passed and failed. ${WRAP} is put in front of each.
set -u
passed=0 failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

count() # count WORD: the number in cmocka's line for it
{
	sed -n "s/^\[  $1  \] \([0-9]*\) test(s).*/\1/p" "$out" | head -n 1
}

for program; do
	name=${program#*/tests/}
	${WRAP:-} "$program" >"$out" 2>&1
	status=$?
	good=$(count PASSED) bad=$(count FAILED)
	good=${good:-0} bad=${bad:-0}
	skipped=$(grep -c '^\[  SKIPPED \] [^0-9]' "$out")
	# a program that died, or that ran no test, failed whatever it counted
	if [ "$status" -ne 0 ] || [ "$((good + skipped))" -eq 0 ]; then
		[ "$bad" -gt 0 ] || bad=1
		echo "FAIL $name (status $status)"
		sed 's/^/     /' "$out"
	else
		echo "ok   $name ($good tests${skipped:+$([ "$skipped" -eq 0 ] || echo ", $skipped SKIPPED")})"
	fi
	passed=$((passed + good)) failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
