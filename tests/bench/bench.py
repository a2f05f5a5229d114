"""What the benchmarks share: the load program, the two builds to compare, and the circumstances,
which belong to a figure.
"""

import contextlib
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import kit  # noqa: E402

THEIRS = {"local": "/usr/bin/ss-local", "server": "/usr/bin/ss-server"}


def have_theirs():
    missing = [path for path in THEIRS.values() if not os.access(path, os.X_OK)]
    if missing:
        print(
            f"SKIP: {', '.join(missing)} missing, nothing to compare with; install the package shadowsocks-libev",
            file=sys.stderr,
        )
    return not missing


def ours():
    """Command lines as the kit finds them."""
    return {role: " ".join(kit.command(role)) for role in ("local", "server")}


def choose(programs):
    """From here on the kit starts these."""
    for role, command in programs.items():
        os.environ[f"SS_{role.upper()}"] = command


def compile_load(folder, name):
    """The load program of this name, compiled for this run."""
    flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-O2"]
    compiler = os.environ.get("CC", "cc").split()
    subprocess.run([*compiler, *flags, "-o", f"{folder}/{name}", HERE / f"{name}.c"], check=True)
    return f"{folder}/{name}"


@contextlib.contextmanager
def load_program():
    """load.c, compiled for this run."""
    with tempfile.TemporaryDirectory(prefix="ss-bench-") as folder:
        yield compile_load(folder, "load")


def circumstances():
    with open("/proc/cpuinfo") as file:
        model = next(
            (line.split(":")[1].strip() for line in file if line.startswith("model name")),
            "unknown processor",
        )
    with open("/proc/sys/net/ipv4/tcp_congestion_control") as file:
        control = file.read().strip()
    load, _, _ = os.getloadavg()
    return (
        f"{model}, {os.cpu_count()} processors, load {load:.1f}; Linux {platform.release()}; "
        f"congestion control {control}"
    )


def median(values):
    return statistics.median(values)


def spread(values):
    """Half of the distance between the extremes, in percent of the median."""
    return 50 * (max(values) - min(values)) / median(values)
