#!/bin/sh
# is_static.sh FILE [BYTES]: FILE is an executable that needs no other file: no interpreter, no
# shared library; and, if BYTES is given, no larger than that.
set -eu
file=$1 limit=${2:-}

fail()
{
	echo "$file: $*" >&2
	exit 1
}

if readelf -lW "$file" | grep -q INTERP; then
	fail "asks for a dynamic linker"
fi
if readelf -dW "$file" | grep -q NEEDED; then
	fail "asks for shared libraries"
fi
size=$(wc -c <"$file")
if [ -n "$limit" ] && [ "$size" -gt "$limit" ]; then
	fail "$size bytes, more than $limit"
fi
kind=$(readelf -hW "$file" | sed -n 's/ *Type: *\([A-Z]*\).*/\1/p')
echo "$file: static${kind:+, $([ "$kind" = DYN ] && echo "position independent" || echo "fixed address")}, $size bytes"
