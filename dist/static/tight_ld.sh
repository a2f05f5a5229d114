#!/bin/sh
# tight_ld.sh GCC: GNU ld's own linker script for a static PIE, but without the padding in the file
# between its segments. The page that holds the end of one and the beginning of the next is mapped
# once for each, with the rights of each: so less than a page of headers and of read-only data can be
# executed as well, and the page of .data begins with what the file has of the end of relocated data, from
# before it was relocated. Nothing that is executed or read-only can be written. Relocated data, read-only
# later, has a segment of its own, and what is left of its last page is there in memory only.
set -eu
script=$("$1" -static-pie -nostdlib -Wl,-z,relro,-z,now,-z,separate-code,--verbose -o /dev/null -x c /dev/null 2>/dev/null |
	sed '1,/^=====/d; /^=====/,$d')
page='CONSTANT (MAXPAGESIZE)'
for line in "ALIGN($page)" "DATA_SEGMENT_ALIGN ($page, CONSTANT (COMMONPAGESIZE))" 'DATA_SEGMENT_RELRO_END (0, .)'; do
	case $script in
	*". = $line;"*) ;;
	*) echo "tight_ld.sh: $1 shows no linker script of the form known here: it has no $line" >&2; exit 1 ;;
	esac
done
tight="ALIGN($page) + (. \& ($page - 1))"
echo "$script" | sed "s/^  \. = ALIGN($page);/  . = $tight;/
	s/^  \. = DATA_SEGMENT_ALIGN (.*/  . = $tight;\\
  . = DATA_SEGMENT_ALIGN (1, 1);/
	s/^  \. = DATA_SEGMENT_RELRO_END (.*/  relro_tail = . \& ($page - 1);\\
  .relro_padding : { . += $page - relro_tail; }\\
  . = DATA_SEGMENT_RELRO_END (0, .);\\
  . += relro_tail;/"
