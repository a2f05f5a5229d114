#!/bin/sh
# setup.sh [check | interop | cross]: install what building and the demo need; with `check` what the tests
# need too, peers included that install in seconds; with `interop` all peers (peers.sh), some of which
# take minutes; with `cross` what executables for other machines are made and run with
# (`make reach`), into ~/.cache/shadowsocks-zig what no distribution has of it. For a fresh Debian,
# Ubuntu or Alpine, as root. Says what it installs, asks nothing, and may be run again. Nothing is
# started, enabled or configured.
set -eu

what=${1:-build}
case $what in
build | check | interop | cross) ;;
*)
	echo "usage: sh dist/setup.sh [check | interop | cross]" >&2
	exit 2
	;;
esac

apt_build="gcc make binutils pkg-config libc6-dev libsodium-dev libmbedtls-dev libc-ares-dev curl python3-minimal python3"
apt_check="clang clang-format libcmocka-dev musl-tools dpkg-dev xz-utils file procps iproute2 util-linux
	python3-pytest python3-pytest-xdist python3-cryptography valgrind libc6-dbg mandoc iperf3 strace gdb
	nftables iptables bind9-dnsutils systemd zsh fish bash-completion bubblewrap runc busybox
	python3-matplotlib linux-perf"
apt_cross="qemu-user-static llvm gcc-arm-linux-gnueabi libc6-dev-armel-cross linux-libc-dev-armel-cross
	musl-tools dpkg-dev xz-utils"
apk_build="gcc make binutils pkgconf musl-dev linux-headers libsodium-dev mbedtls-dev c-ares-dev curl python3"
apk_check="clang clang-extra-tools compiler-rt cmocka-dev libsodium-static mbedtls-static file procps iproute2 util-linux
	py3-pytest py3-pytest-xdist py3-cryptography valgrind mandoc iperf3 strace gdb bash
	nftables iptables bind-tools zsh fish bubblewrap runc
	py3-matplotlib perf"
apk_cross="qemu-aarch64 qemu-arm qemu-mips qemu-mipsel qemu-mips64 qemu-riscv64 qemu-ppc qemu-s390x llvm"
package_peers="shadowsocks-libev v2ray shadowsocks-v2ray-plugin simple-obfs"

need_root()
{
	[ "$(id -u)" -eq 0 ] || {
		echo "setup.sh installs packages and must run as root" >&2
		exit 1
	}
}

# Print those of the packages that are not installed.
apt_missing()
{
	for package; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
	done
}

# A package of a daemon starts it unless this file says no. One that exists is the machine's own
# and stays; ours goes, whatever happens.
policy=/usr/sbin/policy-rc.d
forbid_starting()
{
	[ ! -e "$policy" ] || return 0
	trap 'rm -f "$policy"' EXIT
	trap 'exit 1' HUP INT TERM
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
}

# The peer of our tests is a program here, not a service of the machine.
keep_disabled()
{
	if command -v systemctl >/dev/null; then
		systemctl --quiet --no-reload disable "$1"
	fi
	if [ -x "/etc/init.d/$1" ] && command -v update-rc.d >/dev/null; then
		update-rc.d "$1" disable
	fi
}

# Zig's package on PyPI is its compiler, with a libc for every target (dist/static/targets.mk finds it there).
zig_compiler()
{
	version=0.17.1 into=${XDG_CACHE_HOME:-$HOME/.cache}/shadowsocks-zig
	if [ "$("$into/ziglang/zig" version 2>/dev/null)" = "$version" ]; then
		echo "setup: zig $version is there"
		return
	fi
	echo "setup: pip install ziglang==$version"
	mkdir -p "$into"
	said=$(PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip install -q --no-cache-dir --no-deps \
		--upgrade --target "$into" "ziglang==$version" 2>&1) || {
		why=$(echo "$said" | sed -n 's/^ERROR: //p' | tail -n 1)
		echo "setup: pip could not get ziglang==$version, which compiles for other machines (${why:-$said}): put that" \
			"package into $into from a machine that can, or name a zig of your own, make ZIG=/path/zig" >&2
		exit 1
	}
}

# What peers are made with, unless this machine has it from elsewhere.
peer_tools()
{
	python3 -c 'import ensurepip' 2>/dev/null || echo "$1"
	command -v npm >/dev/null || echo npm
}

apt_install()
{
	forbid_starting
	RUNLEVEL=1 apt-get -q -y --no-install-recommends -o Dpkg::Options::=--force-confold -o DPkg::Lock::Timeout=300 install "$@"
}

with_apt()
{
	export DEBIAN_FRONTEND=noninteractive
	# shellcheck disable=SC2046,SC2086 # lists of words
	set -- $(apt_missing $packages)
	missing_peers=$(apt_missing $peers)
	if [ $# -eq 0 ] && [ -z "$missing_peers" ]; then
		echo "setup: every package is installed already"
		return
	fi
	need_root
	apt-get -q update
	if [ $# -gt 0 ]; then
		echo "setup: apt-get install $*"
		apt_install "$@"
	fi
	for peer in $missing_peers; do
		echo "setup: apt-get install $peer"
		if apt_install "$peer"; then
			keep_disabled "$peer"
		else
			echo "setup: SKIPPED peer $peer: this release cannot install it"
		fi
	done
}

with_apk()
{
	need_root
	echo "setup: apk add $(echo $packages)"
	# shellcheck disable=SC2086
	apk add --no-progress $packages || {
		echo "setup: apk cannot install all of these: enable the community repository in /etc/apk/repositories, which has" \
			"most of them, or install by hand what this release of Alpine has" >&2
		exit 1
	}
	for peer in $peers; do
		apk add --no-progress "$peer" || echo "setup: SKIPPED peer $peer: this release cannot install it"
	done
}

# which of three lists of packages: for building, for testing, for other machines
chosen() # chosen BUILD CHECK CROSS PIP VENV
{
	case $what in
	build) echo "$1" ;;
	check | interop) echo "$1 $2 $(peer_tools "$5")" ;;
	cross) echo "$1 $2 $3 $(python3 -c 'import pip' 2>/dev/null || echo "$4")" ;;
	esac
}

peers=
case $what in check | interop) peers=$package_peers ;; esac
if command -v apt-get >/dev/null; then
	packages=$(chosen "$apt_build" "$apt_check" "$apt_cross" python3-pip python3-venv)
	with_apt
elif command -v apk >/dev/null; then
	packages=$(chosen "$apk_build" "$apk_check" "$apk_cross" py3-pip py3-pip)
	with_apk
else
	echo "setup.sh knows apt and apk only. Needed: a C compiler, GNU make, pkg-config, and the development" >&2
	echo "files of libsodium, mbedtls (2.28 or 3.x) and c-ares; for the demo curl and python3." >&2
	exit 1
fi
case $what in
check) sh "$(dirname "$0")/peers.sh" quick ;;
interop) sh "$(dirname "$0")/peers.sh" all ;;
cross)
	zig_compiler
	command -v apt-get >/dev/null || echo "setup: there is no apt-get here, with which the libraries' sources are fetched:" \
		"before make static-musl, put libsodium, mbedtls and c-ares into build/src, as dist/static/get-src.sh would"
	;;
esac
echo "setup: done"
