#!/bin/sh
# twice.sh MAKE MUSL_CC: what `make dist` hands out is the same bit for bit when it is made again from
# its own archive of sources, unpacked in a folder of another name, with files of another date, by one
# job at a time, for another umask and time zone. The libraries are compiled again, too; only their
# unpacked sources are shared.
set -eu
make=$1 musl_cc=$2
top=$(pwd)
other=$(mktemp -d)/a/folder/with/another/name
trap 'rm -rf "${other%/a/folder/with/another/name}"' EXIT

"$make" -j2 MUSL_CC="$musl_cc" dist
mkdir -p "$other"
tar -xzf build/dist/shadowsocks-*.tar.gz --strip-components=1 -C "$other"
mkdir "$other/build"
find "$other" -exec touch -d '2001-02-03 04:05:06' {} +
ln -s "$top/build/src" "$other/build/src"
(
	umask 077
	unset MAKEFLAGS MFLAGS
	cd "$other" && TZ=Asia/Tokyo LC_ALL=C.UTF-8 "$make" MUSL_CC="$musl_cc" dist
)

passed=0 failed=0
for file in build/dist/*; do
	if cmp "$file" "$other/$file"; then
		echo "ok   $file is the same in both"
		passed=$((passed + 1))
	else
		echo "FAIL $file differs"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
