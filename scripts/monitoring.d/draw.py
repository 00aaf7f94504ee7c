"""Draws what panels show, where their dashboards have them. Grafana itself is nowhere to be had here, so this is no picture
of it: the titles, places, units and queries are the dashboards', the lines are matplotlib's."""

import datetime
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.dates as dates
import matplotlib.pyplot as pyplot
from matplotlib.ticker import FuncFormatter, MaxNLocator

COLOURS = ["#1f77b4", "#e08214", "#2ca02c", "#c0392b", "#7b5ea7", "#8c564b", "#d16ba5", "#7f7f7f", "#a5a51f", "#17a2b8"]
WORDS = {"percentunit": lambda v: f"{v * 100:.3g} %", "reqps": lambda v: f"{v:.3g}/s", "ops": lambda v: f"{v:.3g}/s"}


def seconds(value):
    """As people say it, with one unit."""
    size = abs(value)
    for unit, least in (("d", 2 * 86400), ("h", 2 * 3600), ("min", 120), ("s", 1), ("ms", 1e-3)):
        if size >= least:
            return f"{value / {'d': 86400, 'h': 3600, 'min': 60, 's': 1, 'ms': 1e-3}[unit]:.3g} {unit}"
    return "0" if size == 0 else f"{value * 1e6:.3g} µs"


def octets(value):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"


def written(unit):
    return WORDS.get(unit) or {"s": seconds, "bytes": octets}.get(unit) or (lambda v: f"{v:.4g}" if abs(v) < 10 else f"{v:.0f}")


def colour_of(panel, value):
    colour = "#333333"
    for step in panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", []):
        if step["value"] is None or value >= step["value"]:
            colour = {"green": "#2c8a3d", "orange": "#d9822b", "red": "#c0392b"}[step["color"]]
    return colour


def stat(axes, panel, unit):
    value = panel["series"][0]["points"][-1][1] if panel["series"] else None
    text = "no data" if value is None else unit(value)
    axes.text(0.5, 0.45, text, ha="center", va="center", fontsize=24, color="#999999" if value is None else colour_of(panel, value))
    axes.axis("off")


def table(axes, panel):
    axes.axis("off")
    rows = [series["name"].strip("{}").replace('"', "").split(", ") for series in panel["series"]]
    for number, row in enumerate(sorted(rows)[:9]):
        labels = dict(pair.split("=", 1) for pair in row)
        text = f"{labels.pop('namespace', '')}/{labels.pop('name', '')}", "  ".join(labels.values())
        axes.text(0.02, 0.92 - number * 0.105, text[0], fontsize=7.5, va="center")
        axes.text(0.98, 0.92 - number * 0.105, text[1], fontsize=7.5, va="center", ha="right")


def lines(axes, panel, unit):
    steps = panel["fieldConfig"]["defaults"].get("custom", {}).get("lineInterpolation") == "stepAfter"
    for number, series in enumerate(sorted(panel["series"], key=lambda one: one["name"])):
        gap = min((b[0] - a[0] for a, b in zip(series["points"], series["points"][1:])), default=1)
        times, values, before = [], [], None
        for at, value in series["points"]:
            # Nothing was told meanwhile: so no line either.
            if before is not None and at - before > 2.5 * gap:
                times.append(datetime.datetime.fromtimestamp(before + gap))
                values.append(float("nan"))
            times.append(datetime.datetime.fromtimestamp(at))
            values.append(value)
            before = at
        style = dict(color=COLOURS[number % len(COLOURS)], linewidth=1.2, label=series["name"] or panel["title"])
        axes.plot(times, values, drawstyle="steps-post" if steps else "default", **style)
    if not panel["series"]:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", va="center", color="#999999")
        axes.set_xticks([])
        axes.set_yticks([])
        return
    axes.xaxis.set_major_formatter(dates.DateFormatter("%H:%M"))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=steps))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: unit(value)))
    values = [value for series in panel["series"] for _, value in series["points"]]
    low, high = min([0, *values]), max(values)
    # A line at zero, or at the top, is seen only with some room around it.
    axes.set_ylim(low - 0.03 * (high - low), high + 0.08 * (high - low) if high > low else low + 1)
    axes.grid(color="#e6e6e6", linewidth=0.6)
    handles, names = axes.get_legend_handles_labels()
    shown = 6 if max(map(len, names)) < 22 else 4
    if len(names) > shown:
        names[shown - 1] = f"and {len(names) - shown + 1} more"
    axes.legend(handles[:shown], names[:shown], loc="upper center", bbox_to_anchor=(0.5, -0.13), fontsize=6.5, frameon=False,
                ncol=3 if shown == 6 else 2, handlelength=1.2, columnspacing=1)


def draw(panels, path):
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
    unit = 0.36
    figure = pyplot.figure(figsize=(13, height * unit), facecolor="white")
    for panel in panels:
        place = panel["gridPos"]
        left, wide = place["x"] / 24, place["w"] / 24
        below, high = 1 - (place["y"] + place["h"]) / height, place["h"] / height
        small = panel["type"] == "stat"
        box = [left + 0.045, below + (0.1 if small else 0.27) * high, wide - 0.055, high * (0.62 if small else 0.6)]
        axes = figure.add_axes(box)
        axes.set_title(panel["title"], fontsize=9.5, loc="left", pad=5, color="#222222")
        axes.tick_params(labelsize=7, colors="#555555", length=2)
        for side in axes.spines.values():
            side.set_color("#cccccc")
        if small:
            stat(axes, panel, written(panel["fieldConfig"]["defaults"]["unit"]))
        elif panel["type"] == "table":
            table(axes, panel)
        else:
            lines(axes, panel, written(panel["fieldConfig"]["defaults"]["unit"]))
    figure.savefig(path, dpi=80, metadata={"Software": None})
    pyplot.close(figure)


def main():
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, panels in json.loads(pathlib.Path(sys.argv[1]).read_text()).items():
        path = folder / (name.removesuffix(".json") + ".png")
        for panel in panels:
            panel["series"] = panel["series"] or []
        draw(panels, path)
        print(f"{path.name}: {path.stat().st_size // 1024} KiB")


main()
