#!/bin/sh
# release.sh VERSION OUT [TARGET...]: fill the folder OUT with what is handed out: the archive of
# sources, the static executables (build/musl/ss, and build/TARGET/ss of each target), the image, the
# bill of materials, and SHA256SUMS of it all. The same sources and compilers give the same bytes.
set -eu
version=$1 out=$2
shift 2
name=shadowsocks-$version
epoch=${SOURCE_DATE_EPOCH:-0}
umask 022

# What belongs to the sources: what git knows; in an unpacked archive, which git does not, everything
# but what make and tests leave behind.
files()
{
	if [ -e .git ]; then
		git ls-files
	else
		find . -type d \( -name build -o -name __pycache__ -o -name .pytest_cache \) -prune -o \( -type f -o -type l \) -print |
			sed 's,^\./,,'
	fi | LC_ALL=C sort
}

machine() # machine FILE: as compilers call it
{
	case $(readelf -hW "$1" | sed -n 's/ *Machine: *//p') in
	*X86-64*) echo x86_64-linux-musl ;;
	*80386*) echo x86-linux-musl ;;
	AArch64*) echo aarch64-linux-musl ;;
	RISC-V*) echo riscv64-linux-musl ;;
	*) echo native ;;
	esac
}

rm -rf "$out"
mkdir -p "$out"
files | tar --format=ustar --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$epoch" --no-recursion \
	--transform="s,^,$name/," -cf - -T - | gzip -9n >"$out/$name.tar.gz"

install -m 755 build/musl/ss "$out/$name-$(machine build/musl/ss)"
for target; do
	install -m 755 "build/$target/ss" "$out/$name-$target"
done
install -m 644 build/image.tar "$out/$name-image.tar"
sh dist/sbom.sh "$version" build/src "$out/$name"-*-linux-* >"$out/$name.cdx.json"
(
	cd "$out"
	LC_ALL=C
	export LC_ALL
	sha256sum "$name"* >SHA256SUMS
	cat SHA256SUMS
)
