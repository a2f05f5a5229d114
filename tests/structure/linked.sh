#!/bin/sh
# linked.sh TARGET...: build/TARGET/ss is an executable for the CPU and the system that the target names. It
# cannot be run here.
set -eu
passed=0 failed=0

# TARGET: the file's first bytes, and what else is in it
expected()
{
	case $1 in
	x86_64-freebsd) echo "7f454c4602010100000000000000000003003e00 /libexec/ld-elf.so.1" ;;  # ELF, PIE
	aarch64-freebsd) echo "7f454c460201010000000000000000000300b700 /libexec/ld-elf.so.1" ;;
	x86_64-macos) echo "cffaedfe070000010300000002000000 /usr/lib/dyld" ;; # Mach-O
	aarch64-macos) echo "cffaedfe0c0000010000000002000000 /usr/lib/dyld" ;;
	*) echo "- -" ;;
	esac
}

for target; do
	file=build/$target/ss
	all=$(expected "$target")
	head=${all% *} loader=${all#* }
	found=$(od -An -v -tx1 -N $((${#head} / 2)) "$file" | tr -d ' \n')
	if [ "$found" = "$head" ] && grep -qF "$loader" "$file"; then
		echo "ok   $target: links, $(($(wc -c <"$file"))) bytes"
		passed=$((passed + 1))
	else
		echo "FAIL $target: $file begins with $found, or $loader is not to load it"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
