#!/bin/sh
# size_check.sh MAKE MUSL_CC: the static executable with musl is within its limit, and `make size` finds
# what is in it. It needs musl's compiler and the libraries' sources: where they can not be had, it says
# so and is skipped.
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
passed=0 failed=0
good()
{
	echo "ok   $1"
	passed=$((passed + 1))
}
bad()
{
	echo "FAIL $1"
	echo "$out" | tail -n 20 | sed 's/^/     /'
	failed=$((failed + 1))
}

if out=$("$make" -j2 static-musl 2>&1); then
	good "$(echo "$out" | tail -n 1)"
else
	bad size
fi
# dist/static/one_thread.c does without what musl does for more
if out=$(readelf -sW build/musl/obj/ss 2>&1) && echo "$out" | grep -q ' _Fork$' && ! echo "$out" | grep -q ' pthread_create$'; then
	good "one thread"
else
	out=$(echo "$out" | grep -E ' (_Fork|pthread_create)$')
	bad "one thread"
fi
# who has the most, and somebody of each library
if out=$("$make" size 2>&1) && echo "$out" | grep -q ' crypto/aes' && echo "$out" | grep -q ' applets/settings.c$' &&
	echo "$out" | grep -q ' libcares.a/ares_init.o$' && echo "$out" | grep -q ' libc.a$'; then
	good "make size"
else
	bad "make size"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
