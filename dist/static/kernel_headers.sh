#!/bin/sh
# kernel_headers.sh DIR CC...: if CC is for Linux and sees no <linux/...> headers, as musl-gcc does not,
# link the machine's into DIR. They are the kernel's own and fit any C library.
set -eu
dir=$1
shift

if printf '#ifdef __linux__\n#include <linux/sockios.h>\n#endif\n' | "$@" -E -I"$dir" - >/dev/null 2>&1; then
	exit 0
fi
machine=$("$@" -dumpmachine)
for name in linux asm asm-generic; do
	for base in "/usr/$machine/include" "/usr/include/$machine" /usr/include; do
		if [ -d "$base/$name" ]; then
			ln -sfn "$base/$name" "$dir/$name"
			break
		fi
	done
done
