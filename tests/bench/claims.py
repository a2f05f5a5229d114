"""What the report must show, and whether it does: each claim compares medians of one run.

Limits for CPU time are of one machine, and the peers' versions of peers/.
"""
import contestants

BULK = {  # method: (of shadowsocks-libev, of shadowsocks-rust)
    "aes-256-gcm": (0.47, 0.72), "aes-128-gcm": (0.13, 0.70), "chacha20-ietf-poly1305": (0.65, 0.75),
    "2022-blake3-aes-256-gcm": (None, 0.72), "aes-256-cfb": (0.50, 0.45), "aes-256-ctr": (0.35, 0.75),
    "camellia-256-cfb": (0.95, 1.15),
}
MANY = {"aes-256-gcm": 0.80, "aes-128-gcm": 0.80, "2022-blake3-aes-256-gcm": 0.80}  # of rust, at 8 streams
OF_PLAIN = {False: 1.45, True: 1.75}  # of the forwarder; with AES-NI alone
SHORT = {"100 x 500 KB": (1.0, 0.9), "500 x 50 KB": (1.2, 0.75), "1000 x 5 KB": (1.1, 0.85)}  # rate, CPU of the best


def is_ours(name):
    return name.startswith("ours")


def peers_of(figures):
    return {name: row for name, row in figures.items() if not is_ours(name) and name not in contestants.PLAINS}


def ours_of(figures, forced=False):
    return {name: row for name, row in figures.items()
            if is_ours(name) and (forced or contestants.FORCED not in name)}


def claim(text, value, limit, at_least=False):
    return {"claim": text, "value": value, "limit": limit, "at_least": at_least,
            "holds": value >= limit if at_least else value <= limit}


def bulk_claims(results):
    for method, load in results.tables("bulk"):
        figures = results.figures("bulk", method, load)
        libev, rust = BULK.get(method, (None, None))
        if load.startswith("8"):
            rust = max(MANY.get(method, 0), rust or 0) or None
        for name, row in ours_of(figures).items():
            for peer, limit in (("shadowsocks-libev", libev), ("shadowsocks-rust", rust)):
                if limit and peer in figures:
                    yield claim(f"{name}: {method}, {load}, CPU of {peer}", row["cpu"] / figures[peer]["cpu"], limit)
        if method == "aes-256-gcm":
            for name, row in ours_of(figures, forced=True).items():
                if "of_plain" in row:
                    limit = OF_PLAIN[contestants.FORCED in name]
                    yield claim(f"{name}: {method}, {load}, CPU of the forwarder", row["of_plain"], limit)


def of_the_best(results, key, section, method, load, name, more_is_better=False):
    """Round by round, of the peer that comes off best; None without peers."""
    peers = peers_of(results.figures(section, method, load))
    ratios = [results.of_another(key, section, method, load, name, peer) for peer in peers]
    return (min if more_is_better else max)(ratios, default=None)


def short_claims(results):
    for method, load in results.tables("short"):
        rate, cpu = SHORT.get(load, (1, 1))
        for name in ours_of(results.figures("short", method, load)):
            worst = max(one["errors"] + one["timeouts"] for one in results.samples("short", method, load, name))
            yield claim(f"{name}: {load}, errors and timeouts % of the worst round", worst, 0)
            for key, words, limit in (("rate", "rate", rate), ("p99", "p99", 1), ("cpu_us", "CPU", cpu)):
                ratio = of_the_best(results, key, "short", method, load, name, key == "rate")
                if ratio is not None:
                    yield claim(f"{name}: {load}, {words} of the best peer's", ratio, limit, key == "rate")


def ping_claims(results):
    for method, load in results.tables("ping"):
        for name, row in ours_of(results.figures("ping", method, load)).items():
            ratio = of_the_best(results, "p50", "ping", method, load, name)
            if ratio is not None:
                yield claim(f"{name}: {load}, p50 of the best peer's", ratio, 1)
            # of one round in many, the system's or the host's: a forwarder without ciphers has them, too
            yield claim(f"{name}: {load}, longest exchange ms of the median round", row["longest"], 5)


def other_claims(results):
    for method, load in results.tables("workers"):
        for name, row in results.figures("workers", method, load).items():
            yield claim(f"{name}: {load}, CPU of two workers of one process", row["ratio"], 1.05)
            yield claim(f"{name}: {load}, busier worker %", row["share"], 60)
    for method, load in results.tables("heap"):
        for name, row in ours_of(results.figures("heap", method, load)).items():
            yield claim(f"{name}: allocations for each {load}", row["heap"] + row["maps"], 0)


def memory_claims(results):
    for method, load in results.tables("memory"):
        for name, row in ours_of(results.figures("memory", method, load)).items():
            worse = max(row["local"], row["server"])
            if load.startswith("each"):
                yield claim(f"{name}: KiB for {load}", worse, 1.75)
            elif load == "started" and "musl" in name:
                yield claim(f"{name}: KiB of a program, {load}", worse, 1024)
            elif load == "1,000 idle" and "musl" in name:
                yield claim(f"{name}: KiB of both, {load}", row["total"], 7 * 1024)


def start_claims(results):
    for method, load in results.tables("start"):
        figures = results.figures("start", method, load)
        for name, row in ours_of(figures).items():
            if "shadowsocks-libev" in figures:
                ratio = row["ms"] / figures["shadowsocks-libev"]["ms"]
                yield claim(f"{name}: start of {load}, ms of shadowsocks-libev", ratio, 1)
            if "musl" in name:
                yield claim(f"{name}: KB of the executable, {load}", 1.024 * row["kib"], 450)


def judge(results):
    kinds = (bulk_claims, short_claims, ping_claims, other_claims, memory_claims, start_claims)
    return [found for kind in kinds for found in kind(results)]
