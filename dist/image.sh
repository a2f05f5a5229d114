#!/bin/sh
# image.sh EXECUTABLE OUT.tar TAG [ARCHITECTURE]: an OCI image of one layer, in which the static
# executable is the only file, /ss. It takes no tool but GNU tar, gzip and sha256sum, and the same
# executable gives the same bytes on any day, in any directory, for any user and umask:
# SOURCE_DATE_EPOCH is the time of all in it (0).
#
# What is in OUT.tar is an OCI image layout: skopeo, podman, docker and containerd load it.
set -eu
executable=$1 out=$2 tag=$3 architecture=${4:-}
epoch=${SOURCE_DATE_EPOCH:-0}
umask 022

[ -n "$architecture" ] || case $(uname -m) in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
i?86) architecture=386 ;;
*) architecture=$(uname -m) ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tree" "$work/image/blobs/sha256"

archive() # archive DIRECTORY OUT NAME...
{
	from=$1 to=$2
	shift 2
	tar --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$epoch" \
		-C "$from" -cf "$to" "$@"
}

keep() # keep FILE: as a blob; its digest
{
	digest=$(sha256sum "$1" | cut -d ' ' -f 1)
	mv "$1" "$work/image/blobs/sha256/$digest"
	echo "$digest"
}

size() # size DIGEST
{
	wc -c <"$work/image/blobs/sha256/$1" | tr -d ' '
}

install -m 755 "$executable" "$work/tree/ss"
archive "$work/tree" "$work/layer" ss
unpacked=$(sha256sum "$work/layer" | cut -d ' ' -f 1)
gzip -9n "$work/layer"
layer=$(keep "$work/layer.gz")

# nobody's user, and an executable that is its own entry point: `run IMAGE server -c ...`
cat >"$work/config" <<END
{"architecture":"$architecture","os":"linux","config":{"User":"65534:65534","Entrypoint":["/ss"],"Cmd":["server","-c","/etc/shadowsocks.json"],"WorkingDir":"/","StopSignal":"SIGTERM"},"rootfs":{"type":"layers","diff_ids":["sha256:$unpacked"]}}
END
config=$(keep "$work/config")

cat >"$work/manifest" <<END
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:$config","size":$(size "$config")},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"sha256:$layer","size":$(size "$layer")}]}
END
manifest=$(keep "$work/manifest")

cat >"$work/image/index.json" <<END
{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:$manifest","size":$(size "$manifest"),"platform":{"architecture":"$architecture","os":"linux"},"annotations":{"org.opencontainers.image.ref.name":"$tag"}}]}
END
printf '{"imageLayoutVersion":"1.0.0"}' >"$work/image/oci-layout"

archive "$work/image" "$out" blobs index.json oci-layout
echo "$out: $(wc -c <"$out" | tr -d ' ') bytes, the layer $(size "$layer"), sha256 $(sha256sum "$out" | cut -d ' ' -f 1)"
