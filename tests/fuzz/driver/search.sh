#!/bin/sh
# search.sh LIMIT NAME...: libFuzzer on each target until its LIMIT, -max_total_time=SECONDS or -runs=N.
# What it finds interesting stays in build/fuzz/corpus; an input that fails is left in build/fuzz and
# named. Ends with the sum of inputs.
set -u
limit=$1
shift
passed=0 failed=0 inputs=0
for name; do
	mkdir -p "build/fuzz/corpus/$name"
	set -- "build/fuzz/corpus/$name"
	[ ! -d "tests/fuzz/corpus/$name" ] || set -- "$@" "tests/fuzz/corpus/$name"
	if "build/fuzz/$name" "$limit" -max_len="${FUZZ_LENGTH:-65536}" -timeout=5 -rss_limit_mb=1024 \
		-artifact_prefix="build/fuzz/$name-" "$@" >"build/fuzz/$name.log" 2>&1; then
		runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "build/fuzz/$name.log")
		echo "ok   fuzz/$name ($runs runs)"
		passed=$((passed + 1)) inputs=$((inputs + runs))
	else
		echo "FAIL fuzz/$name"
		tail -n 40 "build/fuzz/$name.log" | sed 's/^/     /'
		failed=$((failed + 1))
	fi
done
echo "$inputs inputs"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
