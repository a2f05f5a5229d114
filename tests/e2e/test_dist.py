"""What lies in dist/ for packagers: units, completions, and the list that keeps clients off private networks."""
import os
import pty
import re
import select
import shutil
import subprocess

import kit
import pytest
import sip004
from datagrams import UdpTarget, seal, udp
from kit import METHOD, PASSWORD, ending

pytestmark = pytest.mark.ours
DAEMONS = ["ss-local", "ss-server", "ss-tunnel", "ss-redir", "ss-manager"]
TOOLS = ["ss-nat", "ss-ping", "ss-ctl", "ss-acl", "ss-check", "ss-key", "ss-url"]
UNITS = sorted((kit.ROOT / "dist/systemd").glob("*"))


def tool(name):
    if not shutil.which(name):
        pytest.skip(f"there is no {name} here")
    return name


# ---- units


def test_units_are_there():
    """Debian's names, so that ours take their places."""
    names = {unit.name for unit in UNITS}
    assert names == {"shadowsocks-libev.service", "shadowsocks-libev-manager.service"} | {
        f"shadowsocks-libev-{role}@.service" for role in ("local", "server", "tunnel", "redir")}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_unit_is_well_formed(tmp_path, unit):
    """systemd-analyze finds nothing, also not that a program is missing."""
    tool("systemd-analyze")
    name = unit.name.replace("@.", "@config.")
    (tmp_path / name).write_text(unit.read_text().replace("/usr/bin/", f"{kit.BUILD}/"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", tmp_path / name], capture_output=True, text=True,
                          timeout=2 * kit.PATIENCE, env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"})
    about = [line for line in (done.stdout + done.stderr).splitlines() if name in line or str(kit.BUILD) in line]
    assert done.returncode == 0 and not about, done.stdout + done.stderr


def test_a_file_that_only_root_may_read(tmp_path):
    """README's recipe: it is what the unit starts, but for the place of the file; and systemd takes it."""
    recipe = re.search(r"(?m)^    \[Service\]\n(    .*\n)+", (kit.ROOT / "README.md").read_text()).group().replace("    ", "")
    unit = (kit.ROOT / "dist/systemd/shadowsocks-libev-server@.service").read_text()
    started = re.search("(?m)^ExecStart=/usr/bin/(.*)", unit)[1]
    name, path = re.search("(?m)^LoadCredential=(.*):(.*)", recipe).groups()
    assert f"\nExecStart=\nExecStart={started.replace(path, '${CREDENTIALS_DIRECTORY}/' + name)}\n" in recipe and path in started
    tool("systemd-analyze")
    folder = tmp_path / "shadowsocks-libev-server@config.service.d"
    folder.mkdir()
    (folder / "override.conf").write_text(recipe.replace("=ss-server", f"={kit.BUILD}/ss-server"))
    (tmp_path / folder.stem).write_text(unit.replace("/usr/bin/", f"{kit.BUILD}/"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", tmp_path / folder.stem], capture_output=True, text=True,
                          timeout=60, env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"})
    about = [line for line in (done.stdout + done.stderr).splitlines() if folder.stem in line or str(kit.BUILD) in line]
    assert done.returncode == 0 and not about, done.stdout + done.stderr


# ---- completions


@pytest.fixture(scope="module")
def completions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completions")
    for shell in ("bash", "zsh", "fish"):
        done = subprocess.run(["sh", kit.ROOT / "dist/completions.sh", shell, kit.BUILD], capture_output=True, text=True,
                              timeout=2 * kit.PATIENCE)
        assert done.returncode == 0 and not done.stderr, done.stderr
        (folder / shell).write_text(done.stdout)
    shutil.copy(folder / "zsh", folder / "_shadowsocks")
    return folder


def bash(folder, line):
    """What bash offers behind the line, by the function that it would call."""
    words, last = line.split(" "), " ''" if line.endswith(" ") else ""
    script = (f'. "{folder}/bash"; COMP_WORDS=({line.rstrip()}{last}); COMP_CWORD={len(words) - 1}; '
              f'compopt() {{ :; }}; _{words[0]}; printf "%s\\n" "${{COMPREPLY[@]}}"')
    done = subprocess.run([tool("bash"), "--norc", "-c", script], capture_output=True, text=True, timeout=kit.PATIENCE)
    assert not done.stderr, done.stderr
    return done.stdout.split("\n")[:-1]


def fish(folder, line):
    done = subprocess.run([tool("fish"), "--no-config", "-c", f'source {folder}/fish; complete -C "{line}"'],
                          capture_output=True, text=True, timeout=2 * kit.PATIENCE, env={**os.environ, "HOME": str(folder)})
    assert not done.stderr, done.stderr
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


def zsh(folder, line):
    """zsh completes at a terminal only: one that is given the line, and a key that lists."""
    tool("zsh")
    primary, replica = pty.openpty()
    script = ("PS1='> '; PS2=; unset zle_bracketed_paste; LISTMAX=1000; fpath=($F $fpath); autoload -Uz compinit; "
              "compinit -u -d $F/dump; zstyle ':completion:*' list-packed no; stty -echo cols 400 rows 200; "
              "listed() { zle list-choices; zle -R; print ' D''ONE'; }; zle -N listed; bindkey '^T' listed; echo READY\n")
    shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=replica, stdout=replica, stderr=replica, start_new_session=True,
                             env={**os.environ, "F": str(folder), "TERM": "dumb", "HOME": str(folder)})
    os.close(replica)
    seen = b""

    def until(text):
        nonlocal seen
        while not re.search(text, seen):
            assert select.select([primary], [], [], kit.PATIENCE)[0], seen
            more = os.read(primary, 65536)
            assert more, seen
            seen += more

    try:
        os.write(primary, script.encode())
        until(rb"READY\r\n[^\n]*> ")
        seen = b""
        os.write(primary, line.encode() + b"\x14")  # nothing more: it lists nothing while more is typed
        until(rb"DONE")
    finally:
        shell.kill()
        shell.wait()
        os.close(primary)
    return re.findall(r"(?m)(?:^|\s)(-{1,2}[\w-]+|[\w./-]+)", re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode()))


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


@pytest.mark.parametrize("shell", SHELLS)
def test_options(completions, shell):
    """All long options of a program that begin so, and no others; and those of no other program."""
    offered = SHELLS[shell](completions, "ss-server --tcp-")
    assert {word for word in offered if word.startswith("--tcp-")} == {
        f"--tcp-{way}-{kind}" for way in ("incoming", "outgoing") for kind in ("sndbuf", "rcvbuf")} | {
            "--tcp-congestion"} | ({"--tcp-"} if "--tcp-" in offered else set())
    assert "--nat-opts" not in SHELLS[shell](completions, "ss-server --nat")
    assert "--nat-opts" in SHELLS[shell](completions, "ss-redir --nat")


@pytest.mark.parametrize("shell", SHELLS)
def test_arguments(completions, shell):
    assert "2022-blake3-aes-256-gcm" in SHELLS[shell](completions, "ss-local -m 2022-blake3-aes-")
    assert "rc4-md5" in SHELLS[shell](completions, "ss-key rc4")
    assert any("nobody" in word for word in SHELLS[shell](completions, "ss-server -a nobod"))
    assert any("passwd" in word for word in SHELLS[shell](completions, "ss-server -c /etc/passw"))


@pytest.mark.parametrize("program", DAEMONS + TOOLS)
def test_every_option(completions, program):
    """bash and fish offer what the help text has."""
    text = subprocess.run([kit.BUILD / program, "-h"], capture_output=True, text=True, check=True, timeout=kit.PATIENCE).stdout
    told = set(re.findall(r"(?m)^ +(?:-\w, )?(--[\w-]+)", text)) | set(re.findall(r"(?m)^  (-\w)\b", text))
    assert len(told) > 20 or program in TOOLS
    assert set(bash(completions, f"{program} -")) - {""} == told
    rows = [row for row in (completions / "fish").read_text().splitlines() if row.startswith(f"complete -c {program} ")]
    offered = {f"--{name}" for row in rows for name in re.findall(r" -l ([\w-]+)", row)}
    offered |= {f"-{letter}" for row in rows for letter in re.findall(r"^complete -c [\w-]+ -s (\w)", row)}
    assert offered == told


def test_every_program():
    listed = subprocess.run([kit.BUILD / "ss", "--list"], capture_output=True, text=True, check=True, timeout=kit.PATIENCE)
    assert set(listed.stdout.split()) == set(DAEMONS + TOOLS)


BSD_INSTALL = """#!/bin/sh
for word; do case $word in -*D*) echo "install: illegal option -- D" >&2; exit 64 ;; esac; done
exec "$INSTALL" "$@"
"""


def test_install(tmp_path_factory, tmp_path):
    """Everything lies where it is looked for, and uninstall leaves nothing but directories; with an install(1) that
    knows no -D, as on BSD and macOS."""
    tools = tmp_path_factory.mktemp("tools")
    (tools / "install").write_text(BSD_INSTALL)
    (tools / "install").chmod(0o755)
    env = {**os.environ, "INSTALL": shutil.which("install"), "PATH": f"{tools}:{os.environ['PATH']}"}
    for target in ("install", "uninstall"):
        done = subprocess.run(["make", "-s", target, f"DESTDIR={tmp_path}", "PREFIX=/usr"], cwd=kit.ROOT, capture_output=True,
                              text=True, timeout=10 * kit.PATIENCE, env=env)
        assert done.returncode == 0, done.stderr[-2000:]
        files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if not path.is_dir()}
        if target == "uninstall":
            assert not files
            continue
        for path in ("bin/shadowsocks", "bin/ss-server", "share/man/man1/ss-local.1", "share/zsh/site-functions/_shadowsocks",
                     "share/bash-completion/completions/ss-local", "share/fish/vendor_completions.d/ss-redir.fish",
                     "lib/systemd/system/shadowsocks-libev-local@.service", "share/shadowsocks/block-private.acl"):
            assert f"usr/{path}" in files


# ---- what a machine needs


def set_up(folder, what, **programs):
    """setup.sh where there is nothing but a few tools and these, scripts of the test's."""
    for name in ("sh", "dirname", "mkdir", "sed", "tail", "cat", "uname"):
        (folder / name).symlink_to(shutil.which(name))
    for name, script in {"id": "echo 0", **programs}.items():
        (folder / name.replace("_", "-")).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name.replace("_", "-")).chmod(0o755)
    return subprocess.run([folder / "sh", kit.ROOT / "dist/setup.sh", what], capture_output=True, text=True, timeout=2 * kit.PATIENCE,
                          env={"PATH": str(folder), "HOME": str(folder)})


NO_PYPI = """case $* in *' install '*) echo 'WARNING: Retrying (Retry(total=0))'
echo 'ERROR: Could not find a version'; echo 'ERROR: No matching distribution found'; exit 1 ;; esac"""


def test_setup_without_pypi(tmp_path):
    """One sentence, which says what can be done."""
    done = set_up(tmp_path, "cross", apt_get="exit 1", dpkg_query="echo installed", python3=NO_PYPI)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "pip could not get ziglang==" in done.stderr and "(No matching distribution found)" in done.stderr
    assert "make ZIG=" in done.stderr


@pytest.mark.parametrize("has", [True, False], ids=["all", "not all"])
def test_setup_on_alpine(tmp_path, has):
    done = set_up(tmp_path, "cross", python3="exit 0", apk="exit 0" if has else "echo 'ERROR: no such package' >&2; exit 1")
    assert done.returncode == (not has)
    if has:
        assert "no apt-get here" in done.stdout and done.stdout.endswith("setup: done\n") and not done.stderr
    else:
        assert done.stderr.count("\n") == 2 and "community repository" in done.stderr


# ---- no way to this machine and its networks (SE03)

PRIVATE = ["127.0.0.1", "127.255.0.9", "0.0.0.0", "10.1.2.3", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.255",
           "169.254.169.254", "198.19.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::127.0.0.1",
           "fe80::1", "fc00::1", "fd00::1", "fec0::1", "ff02::1", "2002:7f00:1::", "64:ff9b::10.0.0.1", "64:ff9b:1::1",
           "localhost", "LOCALHOST.", "a.localhost"]
PUBLIC = ["8.8.8.8", "100.63.255.255", "100.128.0.0", "172.32.0.0", "172.15.255.255", "192.167.255.255", "2606:4700::1111",
          "64:ff9b::8.8.8.8", "example.com", "localhost.example.com", "notlocalhost"]
LIST = kit.ROOT / "dist/acl/block-private.acl"


def test_verdicts():
    done = subprocess.run([kit.BUILD / "ss-acl", LIST, *PRIVATE, *PUBLIC], capture_output=True, text=True, check=True, timeout=kit.PATIENCE)
    assert not done.stderr
    verdicts = dict(re.findall(r"(?m)^(\S+) as a server's target: (refuse|allow|what its address)", done.stdout))
    assert {name for name, verdict in verdicts.items() if verdict == "refuse"} == set(PRIVATE)
    assert len(verdicts) == len(PRIVATE) + len(PUBLIC)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "localhost", "rebound.test"])
def test_a_server_refuses(stage, host):
    """TCP and UDP, by address, by name, and by a name that leads here."""
    dns = stage.dns({"rebound.test": ["127.0.0.1"]})
    server = stage.server(acl=str(LIST), mode="tcp_and_udp", nameserver=dns.address)
    own = "::1" if host == "::1" else "127.0.0.1"
    tcp, datagrams = stage.target(host=own), stage.add(UdpTarget(host=own))
    head = (sip004.name_header if host[0].isalpha() else sip004.header)(host, tcp.port)
    peer = sip004.Peer(stage.connect(server.port), METHOD, PASSWORD)
    peer.send(head + b"hello")
    assert ending(peer.sock, kit.PATIENCE)[0] == b"" and not tcp.conns
    head = (sip004.name_header if host[0].isalpha() else sip004.header)(host, datagrams.port)
    near = stage.add(udp())
    near.sendto(seal(METHOD, PASSWORD, head + b"hello"), ("127.0.0.1", server.port))
    datagrams.silent()
