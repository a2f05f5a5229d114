#!/bin/sh
# check.sh: all stages of `make check`. What they share is built first. Then two lanes run side by
# side: stages that compute, which step back for the others, and stages that mostly wait for what
# they started. A stage's lines stay together and come when it ends. A stage that ends badly without
# having counted a failure counts as one failed, and so does one in which nothing passed, unless it
# has said why there is nothing to do, in a line "SKIPPED stage: ...". Ends with the sums. What a
# stage wrote stays in build/check/STAGE.log. With POLLER=kqueue what the tests' own kqueue has no part
# in is left out.
set -u
make=${MAKE:-make}
logs=build/check
shared=${SS_SHARED:-../shared}
poller=${POLLER:-}

# --- running: each stage leaves STAGE.log and STAGE.end, and says its name when it has ended

run() # run NAME MAKE-ARGUMENT...
{
	name=$1
	shift
	began=$(date +%s)
	{
		$polite "$make" -j2 "$@" 2>&1 </dev/null
		echo $? >"$logs/$name.status"
	} | sed '/^tests\/.*::.* $/d' >"$logs/$name.log" # less xdist's line at the start of each test
	echo "$(cat "$logs/$name.status") $(($(date +%s) - began))" >"$logs/$name.end"
	echo "$name"
}

# there is nothing to do in this stage
left_out() # left_out NAME REASON
{
	echo "SKIPPED $1: $2" >"$logs/$1.log"
	echo 0 0 >"$logs/$1.end"
	echo "$1"
}

unless_kqueue() # unless_kqueue REASON NAME MAKE-ARGUMENT...
{
	reason=$1
	shift
	if [ "$poller" = kqueue ]; then
		left_out "$1" "$reason"
	else
		run "$@"
	fi
}

same="nothing of it differs over kqueue: make check without POLLER does it"

# The waiting stages have limits of time, so these make way for them; all but the last, which is one
# of them and waits for what unit-san builds.
computing()
{
	polite="nice -n 10"
	run unit unit
	run unit-san unit SAN=1
	unless_kqueue "$same" fuzz fuzz-check
	unless_kqueue "$same" size size-check
	unless_kqueue "$same" without without-some
	unless_kqueue "$same" dist dist-check
	polite=
	run e2e-san e2e SAN=1
	echo end-of-lane
}

waiting()
{
	polite=
	run e2e e2e
	unless_kqueue "all of it is in the stage e2e here" e2e-kqueue e2e-kqueue
	run noheap noheap
	run interop interop
	if [ -e "$shared/bugs" ]; then
		run bugs bugs
	else
		left_out bugs "there is no $shared/bugs: set SS_SHARED to where the shared data is"
	fi
	unless_kqueue "datagrams of others are taken and answered by Linux's own files only" netns netns
	unless_kqueue "$same" form format-check
	echo end-of-lane
}

all_stages()
{
	polite=
	run layers layers
	run budget budget
	run baseline baseline
	run manuals man-check
	computing &
	waiting &
	wait
}

# --- telling

# number LOG WORD: N of the last "N WORD" in the log's last line that has counts, as cmocka's
# runner here ("3 passed, 0 failed") and pytest ("== 2 failed, 3 passed, 1 skipped in 4s ==") end
number()
{
	grep -E '[0-9]+ (passed|failed|errors?|skipped)\>' "$1" | tail -n 1 |
		sed 's/\x1b\[[0-9;]*m//g' | grep -oE "[0-9]+ $2" | head -n 1 | cut -d ' ' -f 1
}

show() # show NAME: what the stage wrote; its counts go into the sums
{
	log=$logs/$1.log idle=0
	read -r status seconds <"$logs/$1.end"
	echo "== $1"
	cat "$log"
	good=$(number "$log" passed) bad=$(number "$log" failed)
	errors=$(number "$log" error) skip=$(number "$log" skipped)
	good=${good:-0} bad=$((${bad:-0} + ${errors:-0})) skip=${skip:-0}
	if [ "$good" -eq 0 ]; then
		grep -q "^SKIPPED $1: " "$log" || idle=1
		[ "$skip" -gt 0 ] || [ "$idle" -eq 1 ] || skip=1
	fi
	if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$idle" -eq 1 ]; }; then
		bad=1
	fi
	summary="$summary$(printf '%-10s %5d passed %4d failed %4d skipped %5d s' "$1" "$good" "$bad" "$skip" "$seconds")
"
	passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

sums()
{
	echo "== sums"
	printf '%s' "$summary"
	[ "$skipped" -eq 0 ] || grep -hiE '^(SKIPPED|.*SKIPPED[ :(].*)' "$logs"/*.log | sort -u
	echo "$passed passed, $failed failed, $skipped skipped in $(($(date +%s) - start)) s"
}

start=$(date +%s) lanes=0
passed=0 failed=0 skipped=0 summary=
rm -rf "$logs"
mkdir -p "$logs"
if ! "$make" -j2 all programs >"$logs/build" 2>&1; then
	cat "$logs/build"
	echo "0 passed, 1 failed, 0 skipped: it does not build"
	exit 1
fi
all_stages | {
	while read -r name; do
		case $name in
		end-of-lane) lanes=$((lanes + 1)) ;;
		*) show "$name" ;;
		esac
	done
	if [ "$lanes" -ne 2 ]; then
		echo "FAIL: a lane broke off, and its other stages did not run"
		failed=$((failed + 1))
	fi
	sums
	[ "$failed" -eq 0 ]
}
