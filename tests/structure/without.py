#!/usr/bin/env python3
"""without.py MAKE BUILD [COMBINATION...]: parts can be left out.

Each combination of words ("stream manager redir") is built into BUILD with warnings as errors, from
nothing but the words. Then: what is there answers and relays; what is not there, an applet, an option,
a key, a method, says so in one sentence, and nobody lists or installs it. Without combinations: each part
alone, and all of them together. With --musl CC it is the static executable, which has no more bytes than --most says.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELAYED = ("chacha20-ietf-poly1305", "2022-blake3-aes-128-gcm", "aes-256-cfb")

APPLETS = {
    "ss-local": None, "ss-server": None, "ss-tunnel": "tunnel", "ss-redir": "redir", "ss-manager": "manager",
    "ss-key": "key", "ss-nat": "redir", "ss-acl": "acl", "ss-ctl": "manager", "ss-ping": "ping",
    "ss-check": "check", "ss-url": "url",
}  # fmt: skip
FEATURES = ["stream", "manager", "redir", "tunnel", "plugin", "acl", "url", "check", "ping", "key"]

# What is asked of a program without the part: its name, arguments (FILE: a configuration of the last
# member), and exit status.
ASKED = {
    "stream": [("ss-server", "-s 127.0.0.1 -p 1 -k x -m aes-256-cfb", 255, None), ("ss-local", "-c FILE", 255, '"method": "rc4-md5"')],
    "manager": [("ss-server", "-s 127.0.0.1 -p 1 -k x --manager-address /nowhere", 1, None)],
    "plugin": [
        ("ss-local", "-s 127.0.0.1 -p 1 -l 1 -k x --plugin true", 1, None),
        ("ss-server", "-c FILE", 255, '"plugin": "true"'),
        ("ss-server", "-c FILE", 255, '"servers": [{"server_port": 2, "password": "x", "plugin": "true"}]'),
    ],
    "acl": [("ss-server", "-s 127.0.0.1 -p 1 -k x --acl=/x", 1, None), ("ss-local", "-c FILE", 255, '"acl": "/x"')],
    "url": [("ss-local", "--server-url ss://x -l 1", 1, None)],
}  # fmt: skip
OPTIONS = {"plugin": "--plugin", "acl": "--acl", "url": "--server-url", "manager": "--manager-address"}
NOTHING = '"acl": "", "plugin": null, "plugin_opts": ""'  # is no wish for any part

passed = failed = 0


def told(good, what, more=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print("ok  " if good else "FAIL", what, flush=True)
    if not good and more:
        print("     " + "\n     ".join(str(more).strip().splitlines()[-20:]))


class Build:
    def __init__(self, make, folder, words):
        self.folder, self.words = folder, words
        self.sentence = "is not in this build, which was made without " + " ".join(w for w in FEATURES if w in words)
        self.made = subprocess.run(
            [*make, "-j2", f"B={folder}", f"WITHOUT={' '.join(words)}", "WERROR=1", "all"],
            cwd=ROOT, capture_output=True, text=True,
        )  # fmt: skip

    def run(self, name, *arguments):
        return subprocess.run([self.folder / "ss", name, *arguments], capture_output=True, text=True, timeout=60)

    def refuses(self, name, arguments, status, key):
        """One sentence, and this exit status."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            key = f"{key}, " if key else ""
            file.write(f'{{{key}"server": "127.0.0.1", "server_port": 1, "local_port": 1, "password": "x"}}')
            file.flush()
            end = self.run(name, *(file.name if word == "FILE" else word for word in arguments.split()))
        good = end.returncode == status and end.stderr.count(self.sentence) == 1 and end.stderr.count("\n") == 1
        told(good, f"{name} {arguments} {key}: exit {status}", f"exit {end.returncode}\n{end.stderr}")

    def check_names(self):
        left = [name for name, part in APPLETS.items() if part not in self.words]
        told(self.run("--list").stdout.split() == left, "--list", self.run("--list").stdout)
        links = sorted(p.name for p in self.folder.glob("ss-*"))
        told(links == sorted(left), "links", links)
        for name in APPLETS:
            end = self.run(name) if name not in left else self.run(name, "-h")
            if name in left:
                shown = [o for part, o in OPTIONS.items() if part in self.words and o + " " in end.stdout and name != "ss-manager"]
                told(end.returncode == 0 and not shown, f"{name} -h", f"{shown} {end.stdout}")
            else:
                told((end.returncode, end.stderr) == (1, f"{name} {self.sentence}\n"), f"{name}: exit 1", end.stderr)

    def check_version(self):
        lines = dict(line.split(": ", 1) for line in self.run("--version").stdout.splitlines() if ": " in line)
        methods = lines["methods"].split()
        told(lines.get("without", "") == self.sentence.split("without ", 1)[1], "--version: without", lines)
        told("aes-256-gcm" in methods and ("aes-256-cfb" in methods) != ("stream" in self.words), "--version: methods", methods)

    def check_completions(self):
        """They are made, their shell takes them, and they offer what is there: no other program, and no option of one."""
        gone = [name for name, part in APPLETS.items() if part in self.words]
        gone += [OPTIONS[word] for word in self.words if word in OPTIONS]
        checked = [role for role in ("local", "server", "tunnel", "redir", "manager") if "ss-" + role not in gone]
        for shell, quiet in (("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")):
            end = subprocess.run(["sh", "dist/completions.sh", shell, self.folder], cwd=ROOT, capture_output=True, text=True)
            plain = re.sub(r"\[.*?\]:?| -d '.*'$", "", end.stdout, flags=re.M)  # without what they explain
            plain = re.sub(r" -l (?=[a-z])", " --", plain)  # fish's way to say it
            offered = [word for word in gone if re.search(rf"(?<![\w-]){word}(?![\w-])", plain)]
            good = not offered and ("check" in self.words or " ".join(checked) + "'" in plain.replace(")'", "'"))
            told(end.returncode == 0 and good, f"completions for {shell}", f"{offered} {end.stderr}")
            if shutil.which(shell):
                read = subprocess.run([shell, quiet], input=end.stdout, capture_output=True, text=True, timeout=60)
                told(read.returncode == 0, f"{shell} takes them", read.stderr)
            else:
                print(f"SKIPPED without: there is no {shell} here to read its completions")

    def check_install(self, make):
        """What is installed, and taken away again, is of what is there; what another build has left stays."""
        gone = [name for name, part in APPLETS.items() if part in self.words]
        own = re.compile("|".join(rf"\b{name}\b|-libev-{name[3:]}[@.]" for name in gone) or "(?!)")
        with tempfile.TemporaryDirectory() as root:
            for goal in ("install", "uninstall"):
                end = subprocess.run(
                    [*make, "-s", f"B={self.folder}", f"WITHOUT={' '.join(self.words)}", "WERROR=1", f"DESTDIR={root}", "PREFIX=/usr", goal],
                    cwd=ROOT, capture_output=True, text=True,
                )  # fmt: skip
                told(end.returncode == 0, f"make {goal}", end.stdout + end.stderr)
                files = [str(path) for path in pathlib.Path(root, "usr").rglob("*") if not path.is_dir()]
                if goal == "uninstall":
                    told(files == [str(other)], "uninstall leaves only what is not its own", files)
                    continue
                wrong = [path for path in files if own.search(path) or (path.endswith(".acl") and "acl" in self.words)]
                good = all(any(path.endswith(last) for path in files) for last in ("/ss-local", "/ss-local.1", "-libev-server@.service"))
                told(good and not wrong, "install brings what is there", wrong or files)
                other = pathlib.Path(root, "usr/bin", (gone or ["another"])[0])
                other.touch()

    def check_relay(self):
        methods = [m for m in RELAYED if not (m == "aes-256-cfb" and "stream" in self.words)]
        end = subprocess.run(
            [sys.executable, ROOT / "tests/reach/relay.py", self.folder],
            env=os.environ | {"METHODS": " ".join(methods)}, capture_output=True, text=True,
        )  # fmt: skip
        told(end.returncode == 0, end.stdout.strip() or "relay", end.stderr)

    def check_size(self, most):
        end = subprocess.run(["sh", ROOT / "tests/structure/is_static.sh", self.folder / "ss", str(most)], capture_output=True, text=True)
        told(end.returncode == 0, end.stdout.strip() or "size", end.stderr)

    def check(self, make, most):
        told(self.made.returncode == 0, f"WITHOUT=\"{' '.join(self.words)}\"", self.made.stdout + self.made.stderr)
        if self.made.returncode:
            return
        self.check_names()
        self.check_version()
        self.check_completions()
        self.check_install(make)
        for word in self.words:
            for asked in ASKED.get(word, []):
                self.refuses(*asked)
        if "check" not in self.words:
            end = self.run("ss-check", "redir")
            told(("redir" in self.words) == (self.sentence in end.stdout), "ss-check redir", end.stdout)
            end = self.run("ss-check", "local", "-s", "127.0.0.1", "-p", "1", "-l", "1", "-k", "x", "-c", self.empty())
            told("in this build" not in end.stdout, "what is empty asks for nothing", end.stdout)
        self.check_relay()
        if most:
            self.check_size(most)

    def empty(self):
        path = self.folder / "empty.json"
        path.write_text(f"{{{NOTHING}}}")
        return path


def check_unknown(make, folder):
    end = subprocess.run([*make, f"B={folder}", "WITHOUT=stream bells", "all"], cwd=ROOT, capture_output=True, text=True)
    good = end.returncode and "there is no part bells" in end.stderr and all(word in end.stderr for word in FEATURES)
    told(good, "an unknown word", end.stderr)


def needs_musl(make, compiler):
    """What make is to be told; or the end, if there is no musl here."""
    why = ""
    if not shutil.which(compiler.split()[-1]):
        why = f"no {compiler} here (sh dist/setup.sh check)"
    elif not (ROOT / "build/libs/musl/libsodium.a").exists() and not shutil.which("apt-get"):
        why = "no apt-get for the libraries' sources"
    if why:
        print(f"SKIPPED without: {why}: no build with parts left out was looked at")
        print("0 passed, 0 failed, 1 skipped")
        sys.exit()
    return [*make, "FLAVOUR=musl", f"MUSL_CC={compiler}"]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("make", type=str.split)
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("combinations", nargs="*", type=str.split)
    options.add_argument("--musl")
    options.add_argument("--most", type=int)
    given = options.parse_args()
    make, folder = given.make, given.folder.resolve()
    if given.musl:
        make = needs_musl(make, given.musl)
    check_unknown(make, folder)
    for words in given.combinations or [*([word] for word in FEATURES), FEATURES]:
        Build(make, folder, words).check(make, given.most)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
