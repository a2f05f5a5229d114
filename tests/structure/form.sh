#!/bin/sh
# form.sh CLANG-FORMAT FILE...: whether clang-format would leave every file as it is. What it makes of
# a file depends on its version: with another than ours nothing is asked.
set -u
format=$1 ours=14 passed=0 failed=0
shift
version=$("$format" --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
if [ "$version" != $ours ]; then
	echo "SKIPPED form: the form is that of clang-format $ours, here is ${version:-none}"
	echo "0 passed, 0 failed, 1 skipped"
	exit
fi
for file; do
	if "$format" --dry-run -Werror "$file"; then
		passed=$((passed + 1))
	else
		echo "FAIL $file: make format"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
