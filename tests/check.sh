#!/bin/sh
# check.sh: all stages of `make check`, one after another, each line of theirs as it comes. A stage
# that ends badly without having counted a failure counts as one failed, and so does one in which
# nothing passed, unless it has said why there is nothing to do, in a line "SKIPPED stage: ...". Ends
# with the sums. What a stage wrote stays in build/check/STAGE.log.
set -u
make=${MAKE:-make}
logs=build/check
passed=0 failed=0 skipped=0 summary=
mkdir -p "$logs"

# number LOG WORD: N of the last "N WORD" in the log's last line that has counts, as cmocka's
# runner here ("3 passed, 0 failed") and pytest ("== 2 failed, 3 passed, 1 skipped in 4s ==") end
number()
{
	grep -E '[0-9]+ (passed|failed|errors?|skipped)\>' "$1" | tail -n 1 |
		sed 's/\x1b\[[0-9;]*m//g' | grep -oE "[0-9]+ $2" | head -n 1 | cut -d ' ' -f 1
}

stage() # stage NAME MAKE-ARGUMENT...
{
	name=$1
	shift
	began=$(date +%s) idle=0
	echo "== $name"
	{
		"$make" -j2 "$@" 2>&1
		echo $? >"$logs/$name.status"
	} | sed -u '/^tests\/.*::.* $/d' | tee "$logs/$name.log" # less xdist's line at the start of each test
	status=$(cat "$logs/$name.status")
	good=$(number "$logs/$name.log" passed) bad=$(number "$logs/$name.log" failed)
	errors=$(number "$logs/$name.log" error) skip=$(number "$logs/$name.log" skipped)
	good=${good:-0} bad=$((${bad:-0} + ${errors:-0})) skip=${skip:-0}
	[ "$good" -gt 0 ] || grep -q "^SKIPPED $name: " "$logs/$name.log" || idle=1
	if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$idle" -eq 1 ]; }; then
		bad=1
	fi
	summary="$summary$(printf '%-10s %5d passed %4d failed %4d skipped %5d s' \
		"$name" "$good" "$bad" "$skip" $(($(date +%s) - began)))
"
	passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

# all tests of the stage come from data that is not here
left_out() # left_out NAME REASON
{
	echo "== $1"
	echo "SKIPPED $1: $2" | tee "$logs/$1.log"
	summary="$summary$(printf '%-10s SKIPPED, all of it' "$1")
"
	skipped=$((skipped + 1))
}

shared=${SS_SHARED:-../shared}

stage layers layers
stage form format-check
stage budget budget
stage size size
stage unit unit
stage unit-san unit SAN=1
stage fuzz fuzz-check
stage manuals man-check
stage e2e e2e
stage e2e-san e2e SAN=1
stage interop interop
if [ -e "$shared/bugs" ]; then
	stage bugs bugs
else
	left_out bugs "there is no $shared/bugs: set SS_SHARED to where the shared data is"
fi
stage netns netns
stage noheap noheap

echo "== sums"
printf '%s' "$summary"
[ "$skipped" -eq 0 ] || grep -hiE '^(SKIPPED|.*SKIPPED[ :(].*)' "$logs"/*.log | sort -u
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
