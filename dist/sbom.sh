#!/bin/sh
# sbom.sh VERSION SOURCES FILE...: what the static executables FILE are made of, as a bill of materials
# in CycloneDX's JSON: the three libraries, from the unpacked source packages in SOURCES, with the
# checksums of their original archives; and musl. The same bytes for the same input.
set -eu
version=$1 sources=$2
shift 2

# the version with which Debian carries it: "1.0.18-1+deb12u1"
debian_version()
{
	sed -n '1s/^[^(]*(\([^)]*\)).*/\1/p' "$sources/$1/debian/changelog"
}

# the upstream part of it
upstream()
{
	echo "$1" | sed 's/^[0-9]*://; s/-[^-]*$//; s/[+~]\(dfsg\|repack\|ds\).*//'
}

sum()
{
	sha256sum "$1" | cut -d ' ' -f 1
}

component() # component NAME LICENSE DEBIAN-VERSION [ARCHIVE]
{
	[ -n "$3" ] || {
		echo "sbom.sh: the version of $1 is not known" >&2
		exit 1
	}
	[ -z "${4:-}" ] || [ -f "$4" ] || {
		echo "sbom.sh: the archive of $1 is not in $sources" >&2
		exit 1
	}
	printf '%s    {\n      "type": "library",\n      "bom-ref": "%s",\n      "name": "%s",\n      "version": "%s",\n' \
		"$comma" "$1" "$1" "$(upstream "$3")"
	[ -z "${4:-}" ] || printf '      "hashes": [{ "alg": "SHA-256", "content": "%s" }],\n' "$(sum "$4")"
	printf '      "licenses": [{ "license": { "id": "%s" } }],\n      "purl": "pkg:deb/debian/%s@%s?arch=source"\n    }' \
		"$2" "$1" "$(echo "$3" | sed 's/+/%2B/g; s/:/%3A/g; s/~/%7E/g')"
	comma=',
'
}

original() # original NAME: the archive as its authors published it
{
	for archive in "$sources/$1"_*.orig.tar.*; do
		case $archive in
		*.asc) ;;
		*)
			echo "$archive"
			return
			;;
		esac
	done
}

executables()
{
	comma=
	for file; do
		printf '%s      {\n        "type": "file",\n        "name": "%s",\n        "hashes": [{ "alg": "SHA-256", "content": "%s" }]\n      }' \
			"$comma" "${file##*/}" "$(sum "$file")"
		comma=',
'
	done
}

cat <<END
{
  "bomFormat": "CycloneDX",
  "specVersion": "1.5",
  "version": 1,
  "metadata": {
    "component": {
      "type": "application",
      "bom-ref": "shadowsocks",
      "name": "shadowsocks",
      "version": "$version",
      "licenses": [{ "license": { "id": "ISC" } }],
      "components": [
$(executables "$@")
      ]
    }
  },
  "components": [
END
comma=
component libsodium ISC "$(debian_version libsodium)" "$(original libsodium)"
component mbedtls Apache-2.0 "$(debian_version mbedtls)" "$(original mbedtls)"
component c-ares MIT "$(debian_version c-ares)" "$(original c-ares)"
component musl MIT "${MUSL_VERSION:-$(dpkg-query -W -f '${Version}' musl-dev)}"
cat <<END

  ],
  "dependencies": [
    { "ref": "shadowsocks", "dependsOn": ["libsodium", "mbedtls", "c-ares", "musl"] }
  ]
}
END
