"""What the benchmarks share: the load programs, the build, and the circumstances, which belong to a figure."""
import contextlib
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import kit  # noqa: E402

PROGRAMS = ("load", "udp_load", "exchange", "forward")
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


def first_of(path, pattern, unknown):
    found = re.search(pattern, pathlib.Path(path).read_text(), re.M)
    return found[1].strip() if found else unknown


def facts():
    """The machine, for the head of a report."""
    flags = first_of("/proc/cpuinfo", r"^(?:flags|Features)\s*:(.*)", "").split()
    wanted = ("aes", "pclmulqdq", "vaes", "vpclmulqdq", "avx2", "avx512f", "sha_ni", "pmull")
    return {
        "processor": first_of("/proc/cpuinfo", r"^model name\s*:(.*)", "unknown"),
        "processors": os.cpu_count(),
        "instructions": " ".join(flag for flag in wanted if flag in flags),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') >> 20} MiB",
        "system": f"{platform.system()} {platform.release()}",
        "congestion control": pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip(),
        "load at the start": f"{os.getloadavg()[0]:.1f}",
    }


def circumstances():
    """The same in a line."""
    f = facts()
    return (
        f"{f['processor']}, {f['processors']} processors, load {f['load at the start']}; {f['system']}; "
        f"congestion control {f['congestion control']}"
    )


def median(values):
    return statistics.median(values)


def spread(values):
    """Half of the distance between the extremes, in percent of the median."""
    return 50 * (max(values) - min(values)) / median(values) if median(values) else 0
