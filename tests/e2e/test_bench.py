"""The benchmark's own reckoning: what it reads of perf, who is first, and that what was measured is told, whatever
happens to the rest."""
import json
import signal
import subprocess
import sys
import types

import kit
import pytest

sys.path.append(str(kit.ROOT / "tests/bench"))  # behind ours: both have a manager.py
import charts  # noqa: E402
import claims  # noqa: E402
import contestants  # noqa: E402
import page  # noqa: E402
import costs  # noqa: E402
import readme  # noqa: E402
from results import Failed, Results, contest, stolen  # noqa: E402
from sections import SECTIONS, account, memory  # noqa: E402

pytestmark = pytest.mark.ours
STAT = """\
400,,raw_syscalls:sys_enter,81066127,100.00,,
100,,syscalls:sys_enter_recvmsg,81066127,100.00,,
50,,syscalls:sys_enter_write,81066127,100.00,,
200,,syscalls:sys_enter_epoll_wait,81066127,100.00,,
0,,syscalls:sys_enter_futex,81066127,100.00,,
5000000,,instructions:u,81066127,100.00,,
<not supported>,,cycles:k,0,100.00,,
3000,,cache-misses,81066127,100.00,,
"""
REPORT = """\
# To display the costs.data header info, please use --header/--header-only options.
#
# Overhead|Shared Object    |Symbol
   30.00%|ss               |[.] open_burst.constprop.0
   10.00%|ss               |[.] flow_pump
    5.00%|libsodium.so.23.3|[.] 0x0000000000021f3c
   25.00%|[kernel.kallsyms]|[k] rep_movs_alternative
   20.00%|[kernel.kallsyms]|[k] tcp_sendmsg_locked
   10.00%|[kernel.kallsyms]|[k] try_to_wake_up

"""


def test_perf_stat_is_read():
    found = costs.counts(STAT)
    assert found["raw_syscalls:sys_enter"] == 400 and found["syscalls:sys_enter_futex"] == 0 and "cycles:k" not in found
    figures = costs.call_figures(found, 1_000_000)
    assert {key: figures[key] for key in ("calls", "receive", "send", "wait", "rest")} == {
        "calls": 400, "receive": 100, "send": 50, "wait": 200, "rest": 50}
    assert figures["per_receive"] == 20_000 and figures["per_send"] == 40_000  # two programs
    assert figures["kinds"] == {"recvmsg": 100, "write": 50, "epoll_wait": 200}
    assert costs.hardware_figures(found, 1_000_000) == {"instructions:u": 5, "misses": 3}


def test_what_is_not_counted_is_no_figure():
    found = costs.counts("<not supported>,,cycles:k,0,100.00,,\n")
    assert costs.call_figures(found, 1) == costs.hardware_figures(found, 1) == {}


def test_perf_report_is_read():
    found = costs.samples(REPORT)
    assert len(found) == 6 and found[0] == (30, ".", "ss", "open_burst.constprop.0")
    assert [costs.share_of(*row[1:], {"open_burst": True, "flow_pump": False}) for row in found] == [
        "crypto", "program", "crypto", "copies", "TCP/IP", "wake-ups"]
    shares = costs.shares(found, types.SimpleNamespace())
    assert sum(shares.values()) == pytest.approx(1) and shares["copies"] == 0.25
    assert costs.top(found, 2) == [("open_burst.constprop.0", 30), ("rep_movs_alternative (kernel)", 25)]


@pytest.mark.parametrize("symbol", ["aesni_ctr32_ghash_6x", "ring_core_0_17_14_chacha20_poly1305_open", "sha256_block_data_order"])
def test_ciphers_of_others_are_known_by_their_names(symbol):
    assert costs.share_of(".", "sslocal", symbol) == "crypto"


def test_a_program_without_names_has_no_ciphers_to_tell():
    shares = costs.shares(costs.samples(REPORT.replace("open_burst", "0x00001234")), types.SimpleNamespace())
    assert "crypto" not in shares and shares["program"] == 0.45


# ---- a contest, of figures that are given


def results(rounds=3, minutes=40):
    return Results(types.SimpleNamespace(rounds=rounds, one_method="m", minutes=minutes), None, ())


def peers(*names):
    return [types.SimpleNamespace(name=name) for name in names]


def start(_stage, peer):
    if peer.name == "does not start":
        raise OSError("no such program")
    return types.SimpleNamespace(peer=peer, commands={}, notes=[])


def held(found, figures, section="ping"):
    """A contest in which each has this figure; or it is raised."""
    def measure(chain):
        figure = figures[chain.peer.name]
        if isinstance(figure, BaseException):
            raise figure
        return {SECTIONS[section].METRICS[0][0]: figure}
    contest(found, section, "m", [("load", ())], peers(*figures), start, measure)
    return found


def order(found):
    return [[who for who, _ in row["order"]] for row in page.rankings(found)]


def test_who_is_first():
    assert order(held(results(), {"b": 2, "ours": 1, contestants.PLAIN: 0.5, "c": 3, contestants.RENO: 0.1})) == [
        ["ours", "b", "c"]]


def test_who_is_first_where_more_is_better():
    assert order(held(results(), {"b": 2, "ours": 1}, "short")) == [["b", "ours"]]


def test_one_round_is_enough_for_those_far_behind():
    found = held(results(), {"ours": 1, contestants.SLOW[0]: 9})
    assert {row["contestant"]: len(row["samples"]) for row in found.rows.values()} == {"ours": 3, contestants.SLOW[0]: 1}


def test_nobody_always_comes_after_the_same_one():
    turns = []
    contest(results(20), "ping", "m", [("load", ())], peers("a", "b", "c"), start,
            lambda chain: turns.append(chain.peer.name) or {"p50": 1})
    rounds = {tuple(turns[i:i + 3]) for i in range(0, len(turns), 3)}
    assert all(sorted(order) == ["a", "b", "c"] for order in rounds) and len(rounds) > 3


def test_claims_compare_round_by_round():
    """One round that was bad for all, and one for ours alone, do not count; the best peer does."""
    found, rest = results(), {"errors": 0, "timeouts": 0, "cpu_us": 1, "p99": 1}
    for who, times in (("ours", (0.9, 9, 5)), ("b", (1, 10, 1)), ("c", (2, 20, 2))):
        for took in times:
            found.add("ping", "m", "1 KB", who, {"p50": took, "longest": 1})
            found.add("short", "m", "1000 x 5 KB", who, {"rate": 1 / took, **rest})
    judged = {row["claim"]: row for row in claims.judge(found)}
    row = judged["ours: 1 KB, p50 of the best peer's"]
    assert row["value"] == pytest.approx(0.9) and row["holds"]
    row = judged["ours: 1000 x 5 KB, rate of the best peer's"]
    assert row["value"] == pytest.approx(1 / 0.9) and row["holds"]


def test_rounds_of_which_the_host_took_a_part_do_not_count():
    """Not even in a ratio, if the other one was disturbed; but all do if most were."""
    found = results()
    for who, rounds in (("ours", ((1, 0), (9, 30), (1, 0), (1, 0))), ("b", ((2, 0), (2, 0), (2, 0), (50, 2)))):
        for took, part in rounds:
            found.add("ping", "m", "1 KB", who, {"p50": took, "longest": took, "stolen": part})
    key = ("ping", "m", "1 KB")
    assert {who: row["longest"] for who, row in found.figures(*key).items()} == {"ours": 1, "b": 2}
    assert found.of_another("p50", *key, "ours", "b") == 0.5
    for _ in range(4):
        found.add(*key, "ours", {"p50": 7, "longest": 7, "stolen": 99})
    assert found.figures(*key)["ours"]["longest"] == 7


def test_what_the_host_takes_is_seen(monkeypatch):
    ticks = iter(((10, 1000), (13, 1100)))
    monkeypatch.setattr("results.taken", lambda: next(ticks))
    assert stolen(next(ticks)) == 3


def test_an_error_in_one_round_is_an_error():
    found, rest = results(), {"timeouts": 0, "cpu_us": 1, "p99": 1, "rate": 1}
    for errors in (0, 0, 0.5):
        found.add("short", "m", "500 x 50 KB", "ours", {"errors": errors, **rest})
    assert [(row["value"], row["holds"]) for row in claims.judge(found)] == [(0.5, False)]


def test_size_and_start_are_judged():
    found = results()
    for who, ms, kib in (("ours musl", 3, 500), ("shadowsocks-libev", 2, 300)):
        found.add("start", "m", "local", who, {"ms": ms, "kib": kib})
    judged = [(row["claim"], row["value"], row["holds"]) for row in claims.judge(found)]
    assert judged == [("ours musl: start of local, ms of shadowsocks-libev", 1.5, False),
                      ("ours musl: KB of the executable, local", 512, False)]


def test_without_peers_there_is_nothing_to_compare():
    found = results()
    found.add("ping", "m", "1 KB", "ours", {"p50": 1, "longest": 1})
    assert [row["claim"] for row in claims.judge(found)] == ["ours: 1 KB, longest exchange ms of the median round"]


def test_one_round_is_enough_when_it_is_late():
    found = held(results(minutes=0), {"ours": 1, "b": 2})
    assert [len(row["samples"]) for row in found.rows.values()] == [1, 1] and found.ended


def test_who_never_holds_its_connections_is_not_waited_for(tmp_path, monkeypatch):
    load = tmp_path / "load"
    load.write_text("#!/bin/sh\nexec sleep 1000\n")
    load.chmod(0o755)
    monkeypatch.setattr(memory, "WITHIN", 0.1)
    with pytest.raises(Failed, match="does not hold 5 connections"):
        with memory.held(load, 1, 100, 5):
            pass


@pytest.mark.parametrize("fault", [Failed("x"), OSError("x"), ValueError("x"), subprocess.TimeoutExpired("x", 1)])
def test_a_fault_of_one_stops_nobody_else(fault):
    found = held(results(), {"bad": fault, "ours": 1, "does not start": 1})
    assert order(found) == [["ours"]] and len(page.failures(found)) == 2
    assert "bad" in page.text(found, {}, []) and json.loads(page.data(found, {}, []))["rankings"]


def test_the_account_is_told():
    """As text, as JSON, as a page; columns that nobody has are left out."""
    sample = {"cpu": 1.5, "crypto": 0.5, "calls": 20, "kinds": {"recvmsg": 8.25}, "top": [("gcm_open", 33.3)]}
    found = results()
    found.add("account", "m", "1 stream up", "ours", sample)
    text, whole = page.text(found, {}, []), page.page(found, {}, [])
    for words in (account.TITLE, "calls/MB recvmsg 8.25", "gcm_open 33 %"):
        assert words in text and words in whole
    assert not charts.possible() or "<svg" in whole
    assert "cycles/B" not in text and json.loads(page.data(found, {}, []))["results"][0]["samples"][0]["calls"] == 20


# ---- the whole program, and README


def report(tmp_path, *args):
    argv = [sys.executable, kit.ROOT / "tests/bench/report.py", "--out", tmp_path, "--peers", "ours", *args]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_what_was_measured_is_told_when_it_is_ended(tmp_path):
    with report(tmp_path, "--sections", "start,ping", "--starts", "1", "--ping-rounds", "100000") as process:
        for line in process.stdout:
            if line.startswith("start:"):
                break
        process.send_signal(signal.SIGTERM)
        assert process.wait(kit.PATIENCE) != 0
    told = json.loads((tmp_path / "report.json").read_text())
    assert "interrupted" in told["circumstances"] and told["rankings"][0]["section"] == "start"
    assert (tmp_path / "report.html").exists()


def test_readme_shows_a_report(tmp_path):
    found = results(1)
    for who, cpu in (("shadowsocks-rust", 3), ("ours", 1), (contestants.PLAIN, 0.8), (contestants.RENO, 0.5), ("ours aes-ni", 2)):
        for load in ("1 stream up", "1 stream down"):
            found.add("bulk", "aes-256-gcm", load, who, {"cpu": cpu, "of_plain": cpu / 0.8})
    held(found, {"ours": 0.1, "shadowsocks-rust": 0.2})
    head = dict.fromkeys(("command", "at", "commit", "processor", "processors", "instructions", "system", "congestion control",
                          "rounds", "load at the start", "load at the end"), "-")
    head["command"] = "report.py --out /somewhere --rounds 1"
    held(found, {"ours": 12345, "shadowsocks-rust": 123.45}, "short")
    (tmp_path / "report.json").write_text(page.data(found, head, []))
    (tmp_path / "README.md").write_text(f"before\n{readme.BEGIN}old\n{readme.END}\nafter\n")
    readme.main(tmp_path / "report.json", tmp_path / "README.md")
    lines = (tmp_path / "README.md").read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after") and "old" not in lines
    assert "| aes-256-gcm | **ours** 1 (1.2) | shadowsocks-rust 3 (3.8) |  |  |  | 2 (2.5) |" in lines
    assert "| load, connections per second | **ours** 12,345 | shadowsocks-rust 123 |  |  |  |" in lines
    assert lines[2].startswith("`report.py --rounds 1`")
    assert "| load up and back, p50 in ms | **ours** 0.1 | shadowsocks-rust 0.2 |  |  |  |" in lines


def test_readme_has_the_place():
    text = (kit.ROOT / "README.md").read_text()
    assert readme.BEGIN in text and readme.END in text.partition(readme.BEGIN)[2]
