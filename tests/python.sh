#!/bin/sh
# python.sh: prints the first Python that has what the tests import. The distribution's packages
# belong to /usr/bin/python3; another one may come first in PATH.
for python in /usr/bin/python3 python3; do
	if "$python" -c 'import pytest, cryptography' 2>/dev/null; then
		echo "$python"
		exit
	fi
done
echo "no Python with pytest and cryptography here: sh dist/setup.sh check" >&2
