#!/bin/sh
# size.sh MAKE MUSL_CC: the static executable with musl is within its limit. It needs musl's compiler
# and the libraries' sources: where they can not be had, it says so and is skipped.
set -u
make=$1 musl_cc=$2

if ! command -v "$musl_cc" >/dev/null; then
	echo "SKIPPED size: no $musl_cc here (sh dist/setup.sh check): the size of build/musl/ss was not looked at"
	echo "0 passed, 0 failed, 1 skipped"
	exit
fi
if [ ! -e build/libs/musl/libsodium.a ] && ! command -v apt-get >/dev/null; then
	echo "SKIPPED size: no apt-get for the libraries' sources: the size of build/musl/ss was not looked at"
	echo "0 passed, 0 failed, 1 skipped"
	exit
fi
if out=$("$make" -j2 static-musl 2>&1); then
	echo "ok   $(echo "$out" | tail -n 1)"
	echo "1 passed, 0 failed"
else
	echo "FAIL size"
	echo "$out" | tail -n 20 | sed 's/^/     /'
	echo "0 passed, 1 failed"
	exit 1
fi
