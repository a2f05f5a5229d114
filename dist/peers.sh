#!/bin/sh
# peers.sh quick|all: install the programs that `make interop` meets and no distribution has, each at
# one version, into a folder of its own below ${SS_PEERS:-~/.cache/shadowsocks-peers}. setup.sh
# calls this when the tools are there. "quick" takes seconds; "all" fetches a web site with all it needs
# and compiles Rust and Go, minutes. One that is there already is left alone. One that cannot be installed
# is skipped with its reason and the others go on; tests/interop/peers knows each by the same folder.
set -u
cache=${SS_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/shadowsocks-peers}
mkdir -p "$cache" || exit
renice -n 10 -p $$ >/dev/null

has()
{
	command -v "$1" >/dev/null
}

skip() # skip NAME REASON...
{
	name=$1
	shift
	echo "setup: SKIPPED peer $name: $*"
}

# install NAME VERSION TOOL COMMAND...: unless there_NAME says so, run the command in the peer's
# folder. What it wrote stays in NAME.log; its end is shown when it failed.
install()
{
	name=$1 version=$2 tool=$3 log=$cache/$1.log
	shift 3
	if there "$name" "$version"; then
		echo "setup: peer $name $version is there"
		return
	fi
	has "$tool" || {
		skip "$name" "needs $tool, which is not installed"
		return
	}
	echo "setup: peer $name $version: $*"
	mkdir -p "$cache/$name"
	if (cd "$cache/$name" && "$@") >"$log" 2>&1 && there "$name" "$version"; then
		return
	fi
	tail -n 15 "$log"
	skip "$name" "could not be installed, see above and $log"
}

there() # there NAME VERSION: is it installed, in this version?
{
	case $1 in
	shadowsocks-python) ls -d "$cache/$1"/lib/python3*/site-packages/shadowsocks-"$2".*-info ;;
	shadowsocks-manager) ls -d "$cache/$1"/lib/python3*/site-packages/shadowsocks_manager-"$2".dist-info ;;
	shadowsocks-rust) "$cache/$1/bin/sslocal" --version | grep -Fx "shadowsocks $2" ;;
	sing-box) grep -a "^mod.github.com/sagernet/sing-box.v$2" "$cache/$1/sing-box" ;;
	*) grep -F "\"version\": \"$2\"" "$cache/$1/node_modules/$1/package.json" ;;
	esac >/dev/null 2>&1
}

npm_package()
{
	# no script of a package's runs, and what is not installed is not asked for
	install "$1" "$2" npm npm install --prefix . --ignore-scripts --no-audit --no-fund --loglevel=error "$1@$2"
}

python_package()
{
	python3 -m venv . && bin/pip --disable-pip-version-check install --no-cache-dir "$1"
}

# What it needs to be imported is not all that it wants: not its web server, which would be compiled.
manager_package()
{
	python3 -m venv . && pip="bin/pip --disable-pip-version-check install --no-cache-dir" || return
	$pip "Django~=5.2.0" boto3 celery django-admin-easy django-admin-lazy-load-alexforks django-allowedsites-dynamic \
		django-cache-lock django-celery-beat django-celery-results django-enumfield django-filter \
		django-import-export djangorestframework dns-lexicon dnspython docopt future psutil python-decouple &&
		$pip --no-deps "shadowsocks-manager==$1"
}

quick()
{
	install shadowsocks-python 2.8.2 python3 python_package shadowsocks==2.8.2
	npm_package blinksocks 3.3.0
	npm_package shadowsocks-js 1.4.1
}

slow()
{
	install shadowsocks-manager 0.1.25 python3 manager_package 0.1.25
	features="stream-cipher aead-cipher-extra aead-cipher-2022 aead-cipher-2022-extra local-redir local-tunnel"
	install shadowsocks-rust 1.25.0 cargo cargo install shadowsocks-rust --version 1.25.0 --locked \
		--root "$cache/shadowsocks-rust" --features "$features"
	install sing-box 1.14.1 go env GOBIN="$cache/sing-box" \
		go install github.com/sagernet/sing-box/cmd/sing-box@v1.14.1
}

case ${1:-} in
quick) quick ;;
all)
	quick
	slow
	;;
*)
	echo "usage: sh dist/peers.sh quick|all" >&2
	exit 2
	;;
esac
