#!/bin/sh
# musl_cross.sh TRIPLE PREFIX SRC: build musl from the distribution's source with its cross gcc, as
# PREFIX/bin/musl-gcc. SRC is where sources are unpacked.
set -eu
triple=$1
mkdir -p "$2" "$3"
prefix=$(cd "$2" && pwd) src=$(cd "$3" && pwd)
here=$(cd "$(dirname "$0")" && pwd)

command -v "$triple-gcc" >/dev/null || {
	echo "musl_cross: no $triple-gcc here (sh dist/setup.sh cross)" >&2
	exit 1
}
[ -d "$src/musl" ] || SUITE=${SUITE:-bookworm} sh "$here/get-src.sh" "$src" musl

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
CC=$triple-gcc CROSS_COMPILE=$triple- "$src/musl/configure" --target="${triple%-*}-linux-musleabi" --prefix="$prefix" \
	--syslibdir="$prefix/lib" --disable-shared --enable-wrapper=gcc --enable-optimize=size \
	CFLAGS="-g0 -fPIC -ffunction-sections -fdata-sections" >configure.log 2>&1 || {
	tail -n 20 configure.log >&2
	exit 1
}
make -s -j2
make -s install
