#!/bin/sh
# get-src.sh DIR [PACKAGE...]: the distribution's source packages, patches applied, in DIR under
# names without versions. Reads the machine's own apt sources as deb-src in a private state
# directory below DIR: the machine's apt configuration is not touched, and apt's signature check
# applies. Needs apt, dpkg-dev, xz-utils. SUITE=trixie takes that suite's packages instead.
set -eu

dir=$1
shift
[ $# -gt 0 ] || set -- libsodium mbedtls c-ares
command -v apt-get >/dev/null || {
	echo "get-src: there is no apt-get here: put the sources of $* into $dir by hand, each in a directory of that name" >&2
	exit 1
}
mkdir -p "$dir/apt/lists/partial" "$dir/apt/archives/partial" "$dir/apt/sources"
dir=$(cd "$dir" && pwd)

for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
	[ -f "$file" ] || continue
	case $file in
	*.sources) sed 's/^Types:.*/Types: deb-src/' "$file" >"$dir/apt/sources/${file##*/}" ;;
	*.list) sed -n 's/^deb\(-src\)\{0,1\} /deb-src /p' "$file" >"$dir/apt/sources/${file##*/}" ;;
	esac
done
if [ -n "${SUITE:-}" ]; then
	sed -i -E "s/(bookworm|trixie|forky|sid)(-[a-z]+)?/$SUITE\\2/g" "$dir"/apt/sources/*
fi

apt()
{
	apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$dir/apt/sources" \
		-o Dir::State::lists="$dir/apt/lists" -o Dir::Cache="$dir/apt" -o APT::Sandbox::User=root "$@"
}

# A third party's list without sources is not ours to mend: say so; a missing package fails below.
apt update || echo "get-src: some package lists could not be read" >&2

cd "$dir"
for package; do
	rm -rf "$package" "$package"-[0-9]*
	apt source "$package" >"apt/$package.log" 2>&1 || {
		cat "apt/$package.log" >&2
		exit 1
	}
	mv "$package"-[0-9]*/ "$package"
	echo "$package $(dpkg-parsechangelog -l "$package/debian/changelog" -S Version)"
done
