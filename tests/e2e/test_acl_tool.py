"""ss-acl: verdicts with the rule that gave them, what is wrong with a list, exit codes."""

import os
import pathlib
import subprocess

import kit
import pytest

SS = kit.BUILD / "ss"
LISTS = pathlib.Path(os.environ.get("SS_SHARED", kit.ROOT.parent / "shared")) / "data" / "acl"
pytestmark = pytest.mark.skipif(not SS.exists(), reason=f"{SS} does not exist")


def acl(*args):
    done = subprocess.run([SS, "acl", *map(str, args)], capture_output=True, timeout=kit.PATIENCE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def write(tmp_path, text):
    path = tmp_path / "list.acl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_example_of_the_manual(tmp_path):
    path = write(tmp_path, "[proxy_all]\n[bypass_list]\n||cn\n")
    assert acl(path, "www.example.cn", "192.0.2.1") == (0, (
        "www.example.cn as a client's target: direct, by line 3: ||cn\n"
        "www.example.cn as a server's target: allow, by default\n"
        "192.0.2.1 as a client's target: proxy, by default\n"
        "192.0.2.1 as a server's target: allow, by default\n"
        "192.0.2.1 as a server's client: allow, by default\n"), "")


def test_by_its_own_name(tmp_path):
    done = subprocess.run([kit.BUILD / "ss-acl", write(tmp_path, "a\n")], capture_output=True, text=True, timeout=kit.PATIENCE)
    assert (done.returncode, done.stdout) == (0, "1 names, 0 patterns, 0 networks, 0 left out\n")


def test_rules_and_their_lines(tmp_path):
    path = write(tmp_path, "\ufeff# mine\r\n\r\n  (^|\\.)Ads\\d+\\.  # two\r\n10.0.0.0/8\n[white_list]\n|b.test\n"
                 "[outbound_block_list]\n::ffff:127.0.0.0/104")
    _, out, err = acl(path, "x.ADS12.test.", "b.test", "10.1.1.1", "a.test", "[::ffff:127.0.0.9]")
    lines = dict(line.split(": ", 1) for line in out.replace("[::ffff:127.0.0.9]", "mapped").splitlines())
    assert err == ""
    assert lines["x.ADS12.test. as a client's target"] == "direct, by line 3: (^|\\.)Ads\\d+\\."
    assert lines["b.test as a client's target"] == "proxy, by line 6: |b.test"
    assert lines["10.1.1.1 as a client's target"] == "direct, by line 4: 10.0.0.0/8"
    assert lines["10.1.1.1 as a server's client"] == "refuse, by line 4: 10.0.0.0/8"
    assert lines["a.test as a client's target"] == "what its address says"
    assert lines["a.test as a server's target"] == "what its address says"
    assert lines["mapped as a server's target"] == "refuse, by line 8: ::ffff:127.0.0.0/104"


def test_what_is_no_name(tmp_path):
    """A server refuses them before it asks its rules: no resolver is to take them for an address."""
    path = write(tmp_path, "[outbound_block_list]\n127.0.0.0/8\n")
    for name in "127.1", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "127.0.0.1..", "a b":
        status, out, err = acl(path, name)
        assert (status, err) == (0, "")
        assert out.splitlines()[1] == f"{name} as a server's target: refuse, as no host can have this name"


def test_a_rule_fit_for_terminals(tmp_path):
    path = write(tmp_path, b"a\\.test|\x1b]2J\xff" + b"x" * 5000 + b"\nb\\.test\n")
    _, out, _ = acl(path, "a.test", "b.test")
    assert "by line 1: a\\.test|?]2J?xxx" in out and "by line 2: b\\.test\n" in out
    assert "\x1b" not in out and max(map(len, out.splitlines())) < 300


@pytest.mark.parametrize("rule", ["[", "(", "*", "(?", "\\", "(?=x)", "(x)\\1", "10.0.0.0/33", "||a b"])
def test_rules_left_out_are_named(tmp_path, rule):
    """AC11"""
    path = write(tmp_path, f"[black_list]\n{rule}\n|ok.test\n")
    status, out, err = acl(path)
    assert (status, out) == (0, "1 names, 0 patterns, 0 networks, 1 left out\n")
    assert err.startswith(f"ss-acl: {path}:2: cannot use this rule: ") and err.count("\n") == 1
    status, out, err = acl(write(tmp_path, f"[outbound_block_list]\n{rule}\n"))
    assert status == 1 and not out and err.startswith(f"ss-acl: {path}:2: cannot use this rule: ")


def test_every_one_of_many_is_named(tmp_path):
    path = write(tmp_path, "(\n" * 500)
    status, out, err = acl(path)
    assert (status, out) == (0, "0 names, 0 patterns, 0 networks, 500 left out\n")
    assert all(f"{path}:{line}: " in err for line in range(1, 501))


@pytest.mark.parametrize("text, why", [
    ("[proxy_lits]\n", ":1: there is no section of this name"),
    ("a\n\0\n", ":2: this is no text"),
    ("[Outbound_Block_List]\n", ":1: there is no section of this name"),
    ("[outbound-block-list]\n", ":1: there is no section of this name"),
    ("[ outbound_block_list ]\n", ":1: there is no section of this name"),
    ("a\n[outbound_block_list]]\n", ":2: there is something behind the name of a section"),
    ("[outbound_block_list];\n", ":1: there is something behind the name of a section"),
    ("[outbound_block_list]\r10.0.0.0/8\r", ":1: this line holds lines that end in CR alone"),
])
def test_malformed(tmp_path, text, why):
    path = write(tmp_path, text)
    assert acl(path, "a.test") == (1, "", f"ss-acl: {path}{why}\n")


@pytest.mark.parametrize("line", ["a.test", "  a.test ", "\ta.test\t# not b.test", "a.test#\t", "a.test\r"])
def test_a_rule_is_what_counts(tmp_path, line):
    """Without what stands around it."""
    status, out, err = acl(write(tmp_path, f"#\n[outbound_block_list]\n{line}\n# end\n"), "a.test")
    assert status == 0 and not err
    assert "a.test as a server's target: refuse, by line 3: a.test\n" in out


def test_missing(tmp_path):
    assert acl(tmp_path / "none") == (1, "", f"ss-acl: cannot read {tmp_path}/none: No such file or directory\n")
    assert acl(tmp_path) == (1, "", f"ss-acl: cannot read {tmp_path}: Is a directory\n")


def test_usage(tmp_path):
    for args in (["-h"], ["--help"]):
        status, out, err = acl(*args)
        assert status == 0 and out.startswith("usage: ss-acl FILE") and err == ""
    for args in ([], ["-x"]):
        status, out, err = acl(*args)
        assert status == 1 and out == "" and "usage: ss-acl FILE" in err
    status, _, err = acl(write(tmp_path, ""), "x" * 256)
    assert status == 1 and err == "ss-acl: a name has 1 to 255 characters\n"


@pytest.mark.skipif(not LISTS.exists(), reason=f"SKIPPED: {LISTS} is missing: set SS_SHARED")
def test_published_lists():
    """Every rule of every list is understood."""
    lists = sorted(LISTS.glob("*.acl"))
    assert len(lists) >= 7
    for path in lists:
        status, out, err = acl(path)
        assert status == 0 and out.endswith(" 0 left out\n") and err == "", path
