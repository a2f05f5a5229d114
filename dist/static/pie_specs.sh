#!/bin/sh
# pie_specs.sh MUSL-GCC: gcc specs for static position-independent executables. musl-gcc's own know
# none: -static-pie silently gives a dynamic one there. Made from the specs that wrapper names.
set -eu
for last; do :; done # behind ccache, if that is there
wrapper=$(command -v "$last")
specs=$(sed -n 's/.*-specs[ =]"*\([^" ]*\)"*.*/\1/p' "$wrapper")
sed -e 's|^%{!shared: \(.*\)/Scrt1.o}|%{static-pie: \1/rcrt1.o; !shared: \1/Scrt1.o}|' \
	-e 's|^-dynamic-linker \([^ ]*\)|%{static-pie:-static -pie --no-dynamic-linker -z text; static:; :-dynamic-linker \1}|' \
	"$specs"
