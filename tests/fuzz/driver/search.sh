#!/bin/sh
# search.sh SECONDS NAME...: libFuzzer for so long on each target. What it finds interesting stays in
# build/fuzz/corpus; an input that fails is left in build/fuzz and named.
set -u
seconds=$1
shift
passed=0 failed=0
for name; do
	mkdir -p "build/fuzz/corpus/$name"
	set -- "build/fuzz/corpus/$name"
	[ ! -d "tests/fuzz/corpus/$name" ] || set -- "$@" "tests/fuzz/corpus/$name"
	if "build/fuzz/$name" -max_total_time="$seconds" -max_len=65536 -timeout=5 -rss_limit_mb=1024 \
		-artifact_prefix="build/fuzz/$name-" "$@" >"build/fuzz/$name.log" 2>&1; then
		echo "ok   fuzz/$name ($(sed -n 's/^Done \([0-9]* runs\).*/\1/p' "build/fuzz/$name.log"))"
		passed=$((passed + 1))
	else
		echo "FAIL fuzz/$name"
		tail -n 40 "build/fuzz/$name.log" | sed 's/^/     /'
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
