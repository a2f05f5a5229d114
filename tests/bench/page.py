"""The report as text, as JSON, and as one page with charts that needs nothing else."""
import html
import json
from itertools import starmap

import bench
import charts
import contestants
from claims import is_ours
from sections import SECTIONS

UNRANKED = ("workers", "heap", "account")  # nobody else has the first; the others say more than an order
STYLE = """
body { font: 15px/1.45 sans-serif; max-width: 1100px; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: .6em 0 1.4em } td, th { padding: .15em .7em; text-align: right }
td:first-child, th:first-child { text-align: left } tr { border-bottom: 1px solid #ddd }
tr.ours { background: #e6f2e6 } tr.fails td { color: #b00020 } code { font-size: 12px; overflow-wrap: anywhere }
svg { max-width: 100%; height: auto }
"""


def ranked(section, figures):
    """(name, figures), the best first; the forwarders without cryptography are out of the ranking, at the end."""
    key, more = section.METRICS[0][0], getattr(section, "MORE_IS_BETTER", False)
    rows = [item for item in figures.items() if key in item[1]]
    rows.sort(key=lambda item: (item[0] in contestants.PLAINS, -item[1][key] if more else item[1][key]))
    return rows


def metrics(section, figures):
    """Those that anybody has: what this machine does not count needs no column."""
    return [metric for metric in section.METRICS if any(metric[0] in row for row in figures.values())]


def cells(wanted, row):
    return [f"{row[key]:{form}}" if key in row else "" for key, _, form in wanted]


def uncertain(results, section, *row):
    """How far apart the rounds were in what ranks."""
    samples = [sample[section.METRICS[0][0]] for sample in results.samples(*row)]
    return f"{bench.spread(samples):.0f}" if len(samples) > 1 else ""


def table(results, name, section, *load):
    """Rows of words; the first is the head."""
    figures, place = results.figures(name, *load), 0
    wanted = metrics(section, figures)
    yield ["", "contestant", *(head for _, head, _ in wanted), "± %"]
    for who, row in ranked(section, figures):
        place += who not in contestants.PLAINS
        yield ["-" if who in contestants.PLAINS else str(place), who, *cells(wanted, row),
               uncertain(results, section, name, *load, who)]


def tables(results):
    """(section's name, section, heading, rows of words, lines below) of everything that was measured."""
    for name, section in SECTIONS.items():
        for load in results.tables(name):
            rows = list(table(results, name, section, *load))
            below = section.below(results, *load) if hasattr(section, "below") else []
            if len(rows) > 1:
                yield name, section, ", ".join(load), rows, below


def rankings(results):
    """Who is first, second, ... in each load, by what ranks there, without the forwarders."""
    for name, section in SECTIONS.items():
        key, unit, form = section.METRICS[0]
        for method, load in results.tables(name):
            order = [[who, row[key]] for who, row in ranked(section, results.figures(name, method, load))
                     if who not in contestants.PLAINS]
            if order and name not in UNRANKED:
                yield {"section": name, "method": method, "load": load, "unit": unit, "order": order,
                       "words": ", ".join(f"{i + 1}. {who} {value:{form}}" for i, (who, value) in enumerate(order))}


def failures(results):
    return [f"{r['section']}: {r['contestant']}, {r['method']}, {r['load']}: {r['error']}"
            for r in results.rows.values() if r["error"]]


def judgement(row):
    sign = ">=" if row["at_least"] else "<="
    return f"{'holds' if row['holds'] else 'FAILS'}  {row['value']:8.3f} {sign} {row['limit']:<6.5g} {row['claim']}"


# ---- text


def columns(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(word.ljust(w) if i < 2 else word.rjust(w) for i, (word, w) in enumerate(zip(row, widths))).rstrip()
        for row in rows
    ]


def text(results, head, judged):
    lines, seen = [f"{key}: {value}" for key, value in head.items()], None
    for title, more in front(results, judged):
        lines += ["", f"== {title}", *more]
    for name, section, heading, rows, below in tables(results):
        if name != seen:
            lines += ["", f"== {section.TITLE}", section.TEXT]
        seen = name
        lines += ["", heading, *columns(rows), *below]
    for title, more in appendix(results):
        lines += ["", f"== {title}", *more]
    return "\n".join(lines) + "\n"


def front(results, judged):
    if order := list(rankings(results)):
        yield "Who is first", [f"{row['section']}, {row['method']}, {row['load']} ({row['unit']}): {row['words']}"
                               for row in order]
    if judged:
        yield "What must hold", [judgement(row) for row in judged]


def appendix(results):
    if results.broken or failures(results):
        yield "What failed", [*results.broken, *failures(results)]
    if results.absent:
        yield "Who was not here", results.absent
    if results.notes:
        yield "Notes", [f"{name}: {note}" for name, notes in results.notes.items() for note in notes]
    yield "Commands", [f"{name}, {what}: {command}" for name, uses in results.commands.items()
                       for what, command in uses.items()]


# ---- JSON


def data(results, head, judged):
    return json.dumps({
        "circumstances": head, "results": list(results.rows.values()), "rankings": list(rankings(results)), "claims": judged,
        "absent": results.absent, "broken": results.broken, "notes": results.notes, "commands": results.commands,
    }, indent=1) + "\n"


# ---- the page


def html_table(head, *rows):
    def line(tag, words, kind=""):
        return f"<tr{kind}>" + "".join(f"<{tag}>{html.escape(word)}</{tag}>" for word in words) + "</tr>"
    body = [line("td", row, ' class="ours"' if is_ours(row[1]) else "") for row in rows]
    return f"<table>{line('th', head)}{''.join(body)}</table>"


def code(line):
    return f"<div><code>{html.escape(line)}</code></div>"


def html_lines(title, lines):
    return f"<h2>{title}</h2>" + "".join(map(code, lines))


def page(results, head, judged):
    drawing = charts.possible()
    parts, seen = list(starmap(html_lines, front(results, judged))), None
    for name, section, heading, rows, below in tables(results):
        if name != seen:
            parts.append(f"<h2>{html.escape(section.TITLE)}</h2><p>{html.escape(section.TEXT)}</p>")
            parts.append(charts.chart(results, name, section) if drawing else "")
        seen = name
        parts.append(f"<h3>{html.escape(heading)}</h3>" + html_table(*rows) + "".join(map(code, below)))
    parts += starmap(html_lines, appendix(results))
    facts = "".join(f"<tr><td>{html.escape(key)}</td><td>{html.escape(str(value))}</td></tr>"
                    for key, value in head.items())
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>shadowsocks: benchmark</title>'
            f"<style>{STYLE}</style><h1>Benchmark</h1><table>{facts}</table>{''.join(parts)}</html>\n")
