#!/bin/sh
# check.sh MAKE MUSL_CC PYTEST...: the tests of what dist/ makes, once it is made. That takes musl's
# compiler and the libraries' sources: where they can not be had, it says so and is skipped.
set -u
make=$1 musl_cc=$2
shift 2

skip()
{
	echo "SKIPPED dist: $1: what dist/ makes was not tested"
	echo "0 passed, 0 failed, 1 skipped"
	exit
}

command -v "$musl_cc" >/dev/null || skip "no $musl_cc here (sh dist/setup.sh check)"
[ -e build/libs/musl/libsodium.a ] || command -v apt-get >/dev/null || skip "no apt-get for the libraries' sources"
"$make" -j2 dist >build/dist.log 2>&1 || {
	tail -n 20 build/dist.log
	echo "0 passed, 1 failed"
	exit 1
}
export SS_BUILD="$PWD/build/musl" PYTHONPATH=tests/e2e
exec "$@" tests/dist
