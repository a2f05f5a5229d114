"""What only relocation writes is read-only in the running static executable, whose libc does not see to it."""

import struct

import kit
import pytest

PT_GNU_RELRO = 0x6474E552
PAGE = 4096


def relocated(path):
    """(first address, behind the last) of what is to be read-only, as the file has it: in whole pages."""
    data = path.read_bytes()
    (at,), (size, count) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, _, _, address, _, _, length, _ = struct.unpack_from("<IIQQQQQQ", data, at + i * size)
        if kind == PT_GNU_RELRO:
            return address & -PAGE, (address + length) & -PAGE
    raise AssertionError("there is no such part")


def mapped(pid):
    """(first address, behind the last, rights, file) of all that is mapped."""
    with open(f"/proc/{pid}/maps") as rows:
        for row in rows:
            span, rights, *_, name = row.split()
            yield *(int(end, 16) for end in span.split("-")), rights, name


def test_relocated_data(stage):
    path = kit.BUILD / "ss-server"
    if path.read_bytes()[4:6] != b"\x02\x01":
        pytest.skip("read here are files of 64 bits, little-endian")
    server = stage.server()
    parts, (first, end) = list(mapped(server.pid)), relocated(path)
    base = min(begins for begins, _, _, name in parts if name.endswith("/ss-server"))
    rights = {have for begins, ends, have, _ in parts if begins < base + end and ends > base + first}
    assert end - first >= PAGE and rights == {"r--p"}
