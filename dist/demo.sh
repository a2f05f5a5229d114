#!/bin/sh
# demo.sh: the main job on this machine. A server and a local on loopback with a fresh key, a small
# page served by a little origin server, and curl fetching it through both. Run by `make demo`, which
# sets SS to the directory of the programs. Leaves nothing behind.
set -eu

bin=${SS:-build}
python=${PYTHON:-python3}
method=${METHOD:-aes-256-gcm}
dir=$(mktemp -d)
pids= origin_pid=

said() # said NAME: what this program logged about the connection
{
	sed -n "s/.*-> \(localhost:$origin: .*\)/$1: \1/p" "$dir/$1.log" | grep . || {
		echo "demo: $1 logged no connection" >&2
		return 1
	}
}

stop()
{
	status=$?
	trap - EXIT
	for pid in $pids; do
		kill "$pid" 2>/dev/null || echo "demo: process $pid had ended by itself" >&2
	done
	for pid in $pids; do
		if ! wait "$pid" 2>/dev/null && [ "$pid" != "$origin_pid" ]; then
			echo "demo: process $pid did not end cleanly" >&2
			status=1
		fi
	done
	if [ "$status" -ne 0 ]; then
		cat "$dir"/*.log >&2
	else
		said local && said server && echo "stopped" || status=1
	fi
	rm -rf "$dir"
	exit "$status"
}
trap stop EXIT
trap 'exit 1' HUP INT TERM

# Three ports that are free now.
free_ports()
{
	"$python" -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
print(*(s.getsockname()[1] for s in held))'
}

# Wait up to a minute until something listens on a port of loopback.
wait_for()
{
	"$python" -c 'import socket, sys, time
end = time.monotonic() + 60
while True:
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10).close()
        break
    except OSError:
        if time.monotonic() > end:
            sys.exit("demo: nothing listens on port " + sys.argv[1])
        time.sleep(0.05)' "$1"
}

start() # start NAME COMMAND...
{
	name=$1
	shift
	"$@" >"$dir/$name.log" 2>&1 &
	pids="$pids $!"
	eval "${name}_pid=$!"
}

base64url()
{
	base64 | tr -d '\n=' | tr '+/' '-_'
}

# shellcheck disable=SC2046 # three words
set -- $(free_ports)
origin=$1 sealed=$2 socks=$3
key=$(head -c 24 /dev/urandom | base64url)

mkdir "$dir/site"
cat >"$dir/site/index.html" <<END
<!doctype html>
<title>It works</title>
<p>This page travelled through ss-local and ss-server, sealed with $method.</p>
END
umask 077
cat >"$dir/config.json" <<END
{
	"server": "127.0.0.1",
	"server_port": $sealed,
	"local_port": $socks,
	"password": "$key",
	"method": "$method"
}
END

start origin "$python" -m http.server --bind 127.0.0.1 --directory "$dir/site" "$origin"
start server "$bin/ss-server" -c "$dir/config.json" -v
start local "$bin/ss-local" -c "$dir/config.json" -v
wait_for "$origin"
wait_for "$sealed"
wait_for "$socks"

url=http://localhost:$origin/index.html
echo "origin   $url"
echo "server   127.0.0.1:$sealed"
echo "local    127.0.0.1:$socks (SOCKS5)"
echo "server   ss://$(printf '%s:%s' "$method" "$key" | base64url)@127.0.0.1:$sealed#demo"
echo "\$ curl --socks5-hostname 127.0.0.1:$socks $url"
curl -sS --fail --max-time 60 --noproxy '' --socks5-hostname "127.0.0.1:$socks" -o "$dir/fetched" \
	-w 'fetched  %{size_download} bytes, status %{http_code}, %{time_total} s\n' "$url"
cat "$dir/fetched"
if ! cmp -s "$dir/fetched" "$dir/site/index.html"; then
	echo "demo: what arrived is not what the origin has" >&2
	exit 1
fi
echo "the same $(wc -c <"$dir/fetched") bytes as at the origin"
