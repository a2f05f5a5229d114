#!/bin/sh
# baseline.sh OBJECT...: what any x86-64 runs without being asked has no instruction that came later than SSE2.
# Inline assembly may hold any, and no compiler objects.
set -eu
if [ $# -eq 0 ]; then
	echo "SKIPPED baseline: not an x86-64"
	exit 0
fi
objdump -d --no-show-raw-insn "$@" | awk -v given=$# '
	/file format/ { file = $1; sub(":", "", file); files++ }
	$1 ~ /:$/ && $2 ~ /^(v[a-z][a-z0-9]*|mulx|ad[co]x|rorx|s[ah][lr]x|bzhi|pext|pdep|andn|bextr|bls[a-z]+)[lq]?$/ ||
	$2 ~ /^(popcnt|lzcnt|movbe|crc32|pshufb|palignr|pabs.|psign.|ph(add|sub).*|lddqu|mov.+dup|pmulhrsw|pmaddubsw|pmul(ld|dq)|dpp[sd]|mpsadbw|phminposuw)[lq]?$/ ||
	$2 ~ /^(pm(in|ax)(sb|sd|uw|ud)|p(ins|ext)r[bdq]|(insert|extract)ps|movntdqa|pcmp[ei]str.|ptest|p?blend.*|round..|pcmp..q|packusdw|pmov[sz]x..|aes.*|pclmul.*|sha(1|256).*)$/ {
		if (!bad[file]++ && ++failed)
			print file ": " $2
	}
	END {
		if (files != given)
			print "objdump reads " files + 0 " of " given " files"
		print files - failed " passed, " failed + (given - files) " failed"
		exit failed > 0 || files != given
	}'
