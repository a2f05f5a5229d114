#!/bin/sh
# check.sh PROGRAM...: each fuzz target over its corpus and a fixed stream of mutations, one line each.
set -u
passed=0 failed=0
for program; do
	name=${program##*/}
	set --
	for seed in "tests/fuzz/corpus/$name"/*; do
		[ ! -f "$seed" ] || set -- "$@" "$seed"
	done
	if out=$(timeout 600 "$program" "${FUZZ_ROUNDS:-20000}" "$@" 2>&1); then
		echo "ok   fuzz/$name ($out)"
		passed=$((passed + 1))
	else
		echo "FAIL fuzz/$name"
		echo "$out" | sed 's/^/     /'
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
