#!/bin/sh
# manuals.sh PYTHON BUILD: every manual is well formed, and tells of the options that exist.
set -u
python=$1 build=$2
passed=0 failed=0

report() # report STATUS NAME
{
	if [ "$1" -eq 0 ]; then
		echo "ok   $2"
		passed=$((passed + 1))
	else
		echo "FAIL $2"
		failed=$((failed + 1))
	fi
}

for page in man/*.[1-9]; do
	mandoc -T lint -W warning "$page"
	report $? "$page is well formed"
done
for program in $("$build/ss" --list); do
	"$python" tests/structure/manuals.py "$build/$program" "man/$program.1"
	report $? "$program and its manual agree"
done
for page in man/ss-*; do
	name=${page#man/}
	grep -Eq "^\.Xr ${name%.*} ${name##*.}( ,)?\$" man/shadowsocks.1
	report $? "shadowsocks(1) leads to $page"
done
"$python" tests/structure/keys.py applets/settings.c man/ss-config.5
report $? "the configuration file's keys and its manual agree"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
