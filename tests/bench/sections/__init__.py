"""The sections of the report, one a file: TITLE and TEXT, METRICS (key, heading with unit, format; the first one
ranks), whether more of it is better, PARTS if the first one is a sum of others, below(results, method, load) if there
are lines to stand below a table, and run(results).
"""
from . import account, bulk, heap, memory, ping, short, start, udp, workers

SECTIONS = {
    "bulk": bulk, "short": short, "memory": memory, "udp": udp, "heap": heap, "ping": ping, "start": start,
    "workers": workers, "account": account,
}
