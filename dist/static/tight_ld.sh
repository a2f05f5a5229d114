#!/bin/sh
# tight_ld.sh GCC: GNU ld's own linker script for a static PIE, but without the padding in the file
# between its segments. The page that holds the end of one and the beginning of the next is mapped
# once for each, as it is for the data anyway; what may be written or executed stays the same.
set -eu
script=$("$1" -static-pie -nostdlib -Wl,-z,relro,-z,now,-z,separate-code,--verbose -o /dev/null -x c /dev/null 2>/dev/null |
	sed '1,/^=====/d; /^=====/,$d')
page='CONSTANT (MAXPAGESIZE)'
case $script in
*". = ALIGN($page);"*) ;;
*) echo "tight_ld.sh: $1 shows no linker script of the form known here" >&2; exit 1 ;;
esac
echo "$script" | sed "s/^  \. = ALIGN($page);/  . = ALIGN($page) + (. \& ($page - 1));/"
