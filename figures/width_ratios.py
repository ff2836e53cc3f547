"""d_ff / d_model of real models as dots on a logarithmic line, with two fairer ways to count."""
import csv
import pathlib

import numpy as np

import ffn_helpers as fh

COUNTS = {"as printed": "d_ff / d_model", "with gates": "1.5 for a gate: FFN weights / (2 d²)", "active": "weights of the active experts / (2 d²)"}
DATA = pathlib.Path(__file__).parent.parent / "notebooks" / "data" / "models.csv"
TOP, ROW, NAMES, LEFT, RIGHT = 112, 21, 206, 222, 860


class WidthRatios(fh.Picture):
    """names (n) of models, `ratio` (n,) d_ff / d_model of one FFN, `gated` (n,) 0 or 1, `active` (n,) FFNs a token passes."""
    size = 900, 560

    def check(self, names, ratio, gated, active, count="as printed"):
        if count not in COUNTS:
            raise ValueError(f"count {count!r} is not known; known are {', '.join(COUNTS)}")
        ratio = fh.checked("ratio", ratio, (len(names),))
        if len(names) > 19 or len(names) < 1 or ratio.min() < 1 / 4 or ratio.max() > 64:
            raise ValueError(f"ratio has shape {ratio.shape}, expected 1 to 19 numbers from 0.25 to 64")
        return dict(names=list(names), ratio=ratio, gated=fh.checked("gated", gated, ratio.shape),
                    active=fh.checked("active", active, ratio.shape), count=count)

    def build(self):
        self.place = lambda value: LEFT + (RIGHT - LEFT) * (np.log2(value) + 2) / 8
        bottom = TOP + ROW * len(self.values["names"])
        for tick in (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64):
            self.line([self.place(tick)] * 2, [TOP - 12, bottom], fh.INK if tick == 4 else fh.tint(fh.SOFT, 0.6), 1.6 if tick == 4 else 1)
            self.text(self.place(tick), bottom + 12, fh.num(tick), weight="bold" if tick == 4 else "normal", ha="center")
        self.axis_name = self.moves(self.text(LEFT, bottom + 34, "", 11))
        self.dots = self.moves(self.patch(fh.EMPTY, fh.INK, fh.INK, 1.4, zorder=3))
        self.rings = self.moves(self.patch(fh.EMPTY, fh.ZERO, fh.INK, 1.8, zorder=3))
        rows = range(len(self.values["names"]))
        self.names = [self.moves(self.text(NAMES, TOP + ROW * i, "", ha="right")) for i in rows]
        self.numbers = [self.moves(self.text(0, TOP + ROW * i, "")) for i in rows]
        self.text(LEFT + 300, bottom + 34, "●  two matrices     ○  gated, three matrices", 11)

    def update(self):
        v = self.values
        value = v["ratio"] * (1 if v["count"] == "as printed" else np.where(v["gated"] > 0, 1.5, 1))
        value = value * (v["active"] if v["count"] == "active" else 1)
        order = np.argsort(value, kind="stable")
        shapes = [[], []]
        for row, i in enumerate(order):
            at = self.place(value[i]), TOP + ROW * row
            shapes[int(v["gated"][i] > 0)].append(fh.circle(*at, 5.5))
            self.names[row].set_text(v["names"][i])
            before = 0.5 < value[i] < 4 or value[i] > 60        # away from the line at 4 and from the edge
            self.numbers[row].set(x=at[0] + (-12 if before else 12), ha="right" if before else "left", text=fh.num(value[i]))
        self.dots.set_path(fh.joined(shapes[0])), self.rings.set_path(fh.joined(shapes[1]))
        four, low, high = int(np.isclose(value, 4).sum()), order[0], order[-1]
        self.axis_name.set_text(COUNTS[v["count"]])
        self.title = f"{four} of {len(value)} FFNs are 4 times as wide; the others reach from {fh.num(value[low])} to {fh.num(value[high])}"
        self.sentence = f"Smallest: {v['names'][low]}, {fh.num(value[low])}. Largest: {v['names'][high]}, {fh.num(value[high])}. Median: {fh.num(np.median(value))}."
        self.alt = f"Dot plot of {COUNTS[v['count']]} for {len(value)} FFNs of real models. {four} stand at 4. {self.sentence}"


def default():
    """Every row of models.csv; DeepSeek-V3 counts twice, its dense layers and its experts."""
    columns = []
    with open(DATA, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            ratios = row["ff_ratio"].split(" / ")
            for ratio in ratios:
                expert = float(row["experts"]) > 1 and ratio == ratios[-1]
                columns.append((row["name"] + ", expert" * expert, float(ratio), row["gated"] == "yes",
                                float(row["top_k"]) + float(row["shared_experts"]) if expert else 1))
    names, ratio, gated, active = zip(*columns)
    return WidthRatios(names=names, ratio=ratio, gated=gated, active=active)
