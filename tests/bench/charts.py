"""The charts of the page, as SVG: groups of bars, one group a table, each bar one contestant."""
import io

import contestants
from claims import is_ours

PALETTE = ("#d1495b", "#edae49", "#00798c", "#8d6a9f", "#30638e", "#8c564b", "#e377c2", "#17becf", "#c7b446")


def possible():
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("SKIPPED charts: matplotlib is not installed (python3-matplotlib): the page has tables only", flush=True)
        return False
    return True


def colour(name, number):
    if name in contestants.PLAINS:
        return "#bbbbbb"
    return {"ours": "#2e7d32", "ours musl": "#66bb6a"}.get(name, PALETTE[number % len(PALETTE)])


def bars(axes, key, groups, names):
    """By what ranks."""
    high = 0.9 / len(names)
    for i, who in enumerate(names):
        at = [(g + i * high, row[who][key]) for g, (_, row) in enumerate(groups) if key in row.get(who, {})]
        axes.barh([y for y, _ in at], [x for _, x in at], high * 0.9, label=who, color=colour(who, i),
                  edgecolor="black" if is_ours(who) else "none", linewidth=0.8)
    axes.set_yticks([g + 0.45 for g in range(len(groups))], [label for label, _ in groups], fontsize=7)
    values = [row[key] for _, figures in groups for row in figures.values() if row.get(key)]
    if values and max(values) > 30 * min(values):
        axes.set_xscale("log")


def stacks(axes, parts, groups, names):
    """By what that is made of."""
    at = [(g + i * 0.9 / len(names), who if i else f"{label.replace(chr(10), ', ')}: {who}", row[who])
          for g, (label, row) in enumerate(groups) for i, who in enumerate(names) if who in row]
    left = [0] * len(at)
    for i, part in enumerate(parts):
        widths = [row.get(part, 0) for _, _, row in at]
        axes.barh([y for y, _, _ in at], widths, 0.8 / len(names), left=left, label=part, color=PALETTE[i % len(PALETTE)])
        left = [x + width for x, width in zip(left, widths)]
    axes.set_yticks([y for y, _, _ in at], [label for _, label, _ in at], fontsize=7)


def chart(results, name, section):
    """Empty where there is nothing to draw."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    key, heading, _ = section.METRICS[0]
    groups = [(f"{m}\n{l}", results.figures(name, m, l)) for m, l in results.tables(name)]
    names = list(dict.fromkeys(who for _, figures in groups for who, row in figures.items() if key in row))
    if not names:
        return ""
    figure, axes = pyplot.subplots(figsize=(11, 0.5 + 0.16 * len(groups) * (len(names) + 1.5)))
    if parts := getattr(section, "PARTS", ()):
        stacks(axes, parts, groups, names)
    else:
        bars(axes, key, groups, names)
    axes.invert_yaxis()
    axes.set_xlabel(heading)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.grid(axis="x", alpha=0.3)
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", bbox_inches="tight")
    pyplot.close(figure)
    return drawn.getvalue()[drawn.getvalue().index("<svg"):]
