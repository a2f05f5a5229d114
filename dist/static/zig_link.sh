#!/bin/sh
# zig_link.sh ZIG cc ARGUMENT...: link as that command does, but with relative relocations packed (most of
# them take a bit instead of 12 or 24 bytes), which zig's compiler refuses to pass on. Its linker is asked
# once more, with the same words and this one. With -flto, also what is to be optimised as one: objects have
# both forms.
set -eu
case " $* " in
*' -flto '*) as_one=--fat-lto-objects ;;
*) as_one= ;;
esac
words=$(ZIG_VERBOSE_LINK=1 "$@" 2>&1) || {
	echo "$words" >&2
	exit 1
}
words=$(echo "$words" | sed -n 's/^ld\.lld //p')
[ "$words" ] || {
	echo "zig_link.sh: $1 does not say how it links: it is another version than dist/setup.sh cross installs" >&2
	exit 1
}
# shellcheck disable=SC2086 # they are words
exec "$1" ld.lld $words --pack-dyn-relocs=relr $as_one
