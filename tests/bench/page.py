"""The report as text, as JSON, and as one page with charts that needs nothing else."""
import html
import io
import json

import contestants
from claims import is_ours
from sections import SECTIONS

STYLE = """
body { font: 15px/1.45 sans-serif; max-width: 1100px; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: .6em 0 1.4em } td, th { padding: .15em .7em; text-align: right }
td:first-child, th:first-child { text-align: left } tr { border-bottom: 1px solid #ddd }
tr.ours { background: #e6f2e6 } tr.fails td { color: #b00020 } code { font-size: 12px; overflow-wrap: anywhere }
svg { max-width: 100%; height: auto }
"""


def ranked(section, figures):
    """(name, figures), the best first; the forwarder without cryptography is out of the ranking, at the end."""
    key, more = section.METRICS[0][0], getattr(section, "MORE_IS_BETTER", False)
    rows = [item for item in figures.items() if key in item[1]]
    rows.sort(key=lambda item: (item[0] == contestants.PLAIN, -item[1][key] if more else item[1][key]))
    return rows


def cells(section, row):
    return [f"{row[key]:{form}}" if key in row else "" for key, _, form in section.METRICS]


def tables(results):
    """(section's name, section, heading, rows of words, names) of everything that was measured."""
    for name, section in SECTIONS.items():
        for method, load in results.tables(name):
            rows, place = [], 0
            for who, row in ranked(section, results.figures(name, method, load)):
                place += who != contestants.PLAIN
                rows.append([str(place) if who != contestants.PLAIN else "-", who, *cells(section, row)])
            if rows:
                yield name, section, f"{method}, {load}", rows


def heads(section):
    return ["", "contestant", *(head for _, head, _ in section.METRICS)]


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
    lines = [f"{key}: {value}" for key, value in head.items()]
    seen = None
    for name, section, heading, rows in tables(results):
        if name != seen:
            lines += ["", f"== {section.TITLE}", section.TEXT]
        seen = name
        lines += ["", heading, *columns([heads(section), *rows])]
    for title, more in appendix(results, judged):
        lines += ["", f"== {title}", *more]
    return "\n".join(lines) + "\n"


def appendix(results, judged):
    if judged:
        yield "What must hold", [judgement(row) for row in judged]
    if failures(results):
        yield "What failed", failures(results)
    if results.absent:
        yield "Who was not here", results.absent
    if results.notes:
        yield "Notes", [f"{name}: {note}" for name, notes in results.notes.items() for note in notes]
    yield "Commands", [f"{name}, {what}: {command}" for name, uses in results.commands.items()
                       for what, command in uses.items()]


# ---- JSON


def data(results, head, judged):
    return json.dumps({
        "circumstances": head, "results": list(results.rows.values()), "claims": judged, "absent": results.absent,
        "notes": results.notes, "commands": results.commands,
    }, indent=1) + "\n"


# ---- the page


def chart(results, name, section):
    """SVG: groups of bars, one group a table, each bar one contestant; or None where it cannot be drawn."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    key, heading, _ = section.METRICS[0]
    groups = [(f"{m}\n{l}", results.figures(name, m, l)) for m, l in results.tables(name)]
    names = list(dict.fromkeys(who for _, figures in groups for who, row in figures.items() if key in row))
    if not names:
        return ""
    figure, axes = pyplot.subplots(figsize=(11, 0.5 + 0.16 * len(groups) * (len(names) + 1.5)))
    high = 0.9 / len(names)
    for i, who in enumerate(names):
        at = [(g + i * high, row[who][key]) for g, (_, row) in enumerate(groups) if key in row.get(who, {})]
        axes.barh([y for y, _ in at], [x for _, x in at], high * 0.9, label=who, color=colour(who, i),
                  edgecolor="black" if is_ours(who) else "none", linewidth=0.8)
    axes.set_yticks([g + 0.45 for g in range(len(groups))], [label for label, _ in groups], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel(heading)
    values = [row[key] for _, figures in groups for row in figures.values() if row.get(key)]
    if values and max(values) > 30 * min(values):
        axes.set_xscale("log")
    axes.legend(fontsize=7)
    axes.grid(axis="x", alpha=0.3)
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", bbox_inches="tight")
    pyplot.close(figure)
    return drawn.getvalue()[drawn.getvalue().index("<svg"):]


def colour(name, number):
    if name == contestants.PLAIN:
        return "#bbbbbb"
    palette = ("#d1495b", "#edae49", "#00798c", "#8d6a9f", "#30638e", "#8c564b", "#e377c2", "#17becf", "#c7b446")
    return {"ours": "#2e7d32", "ours musl": "#66bb6a"}.get(name, palette[number % len(palette)])


def charts_possible():
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("SKIPPED charts: matplotlib is not installed (python3-matplotlib): the page has tables only", flush=True)
        return False
    return True


def html_table(head, rows):
    def line(tag, words, kind=""):
        return f"<tr{kind}>" + "".join(f"<{tag}>{html.escape(word)}</{tag}>" for word in words) + "</tr>"
    body = [line("td", row, ' class="ours"' if is_ours(row[1]) else "") for row in rows]
    return f"<table>{line('th', head)}{''.join(body)}</table>"


def page(results, head, judged):
    drawing, parts, seen = charts_possible(), [], None
    for name, section, heading, rows in tables(results):
        if name != seen:
            parts.append(f"<h2>{html.escape(section.TITLE)}</h2><p>{html.escape(section.TEXT)}</p>")
            parts.append(chart(results, name, section) if drawing else "")
        seen = name
        parts.append(f"<h3>{html.escape(heading)}</h3>" + html_table(heads(section), rows))
    for title, lines in appendix(results, judged):
        parts.append(f"<h2>{title}</h2>" + "".join(f"<div><code>{html.escape(line)}</code></div>" for line in lines))
    facts = "".join(f"<tr><td>{html.escape(key)}</td><td>{html.escape(str(value))}</td></tr>"
                    for key, value in head.items())
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>shadowsocks: benchmark</title>'
            f"<style>{STYLE}</style><h1>Benchmark</h1><table>{facts}</table>{''.join(parts)}</html>\n")
