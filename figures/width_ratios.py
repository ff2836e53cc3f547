"""d_ff / d_model of real models as dots on a logarithmic line, with two fairer ways to count."""
import numpy as np

import ffn_helpers as fh
import model_costs

COUNTS = {                     # what the axis counts, and the title's words for a ratio of 4
    "as printed": ("d_ff / d_model", "FFNs are 4 times as wide"),
    "with gates": ("d_ff / d_model of a plain FFN with as many weights", "FFNs hold the weights of a 4-times FFN"),
    "active": ("d_ff / d_model of a plain FFN with the weights that a token passes", "give a token the weights of a 4-times FFN")}
TOP, ROW, NAMES, YEARS, NUMBERS, LEFT, RIGHT = 116, 21, 200, 248, 302, 326, 874     # the first three: right edges of columns


class WidthRatios(fh.Picture):
    """names (n) of models, `ratio` (n,) d_ff / d_model of one FFN, `gated` (n,) 0 or 1, `active` (n,) FFNs a token passes, `year` (n,)."""
    size = 900, 596

    def check(self, names: fh.SEVERAL, ratio, gated, active, year, count: str = "as printed"):
        if count not in COUNTS:
            raise ValueError(f"count {fh.brief(count)} is not known; known are {', '.join(COUNTS)}")
        if not all(isinstance(name, str) for name in names):
            raise ValueError(f"names must be words, got {fh.brief(names)}")
        ratio = fh.checked("ratio", ratio, (len(names),))
        if len(names) > 19 or len(names) < 1 or ratio.min() < 1 / 4 or ratio.max() > 64:
            raise ValueError(f"ratio has shape {ratio.shape}, expected 1 to 19 numbers from 0.25 to 64")
        gated, active = fh.checked("gated", gated, ratio.shape), fh.checked("active", active, ratio.shape)
        if active.min() < 1 or (ratio * np.where(gated, 1.5, 1) * active).max() > 64:
            raise ValueError(f"active reaches from {fh.num(active.min())} to {fh.num(active.max())}, expected 1 or more FFNs, in all at most as wide as one of ratio 64")
        return dict(names=list(names), ratio=ratio, gated=gated, active=active,
                    year=fh.checked("year", year, ratio.shape), count=count)

    def build(self):
        self.place = lambda value: LEFT + (RIGHT - LEFT) * (np.log2(value) + 2) / 8
        bottom = TOP + ROW * len(self.values["names"])
        for tick in (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64):
            self.line([self.place(tick)] * 2, [TOP - 14, bottom], fh.INK if tick == 4 else fh.tint(fh.SOFT, 0.6), 1.6 if tick == 4 else 1)
            self.text(self.place(tick), bottom + 12, fh.num(tick), weight="bold" if tick == 4 else "normal", ha="center")
        self.axis_name = self.moves(self.text(LEFT, bottom + 34, "", 11))
        self.dots = self.moves(self.patch(fh.EMPTY, fh.INK, fh.INK, 1.4, zorder=3))
        self.rings = self.moves(self.patch(fh.EMPTY, fh.ZERO, fh.INK, 1.8, zorder=3))
        rows = range(len(self.values["names"]))
        for x, words in [(NAMES, "model"), (YEARS, "year"), (NUMBERS, "ratio")]:
            self.text(x, TOP - 24, words, weight="bold", ha="right")
        self.names, self.years, self.numbers = ([self.moves(self.text(x, TOP + ROW * i, "", ha="right")) for i in rows]
                                                for x in (NAMES, YEARS, NUMBERS))
        self.text(LEFT, bottom + 58, "●  plain: two matrices     ○  gated: three matrices", 11)

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
            self.years[row].set_text(f"{v['year'][i]:.0f}")
            self.numbers[row].set_text(fh.num(value[i]))
        self.dots.set_path(fh.joined(shapes[0])), self.rings.set_path(fh.joined(shapes[1]))
        four, low, high = int(np.isclose(value, 4).sum()), order[0], order[-1]
        axis, words = COUNTS[v["count"]]
        self.axis_name.set_text(axis)
        self.title = f"{four} of {len(value)} {words}; the others {fh.num(value[low])} to {fh.num(value[high])}"
        self.sentence = f"Smallest: {v['names'][low]}, {fh.num(value[low])}. Largest: {v['names'][high]}, {fh.num(value[high])}. Median: {fh.num(np.median(value))}."
        self.alt = f"Dot plot of {axis} for {len(value)} FFNs of real models. {four} stand at 4. {self.sentence}"


def default():
    """Every row of models.csv; DeepSeek-V3 counts twice, its dense layers and its experts."""
    columns = []
    for row in model_costs.rows():
        ratios = row["ff_ratio"].split(" / ")
        for ratio in ratios:
            expert = float(row["experts"]) > 1 and ratio == ratios[-1]
            columns.append((row["name"] + ", expert" * expert, float(ratio), row["gated"] == "yes",
                            float(row["top_k"]) + float(row["shared_experts"]) if expert else 1, int(row["year"])))
    names, ratio, gated, active, year = zip(*columns)
    return WidthRatios(names=names, ratio=ratio, gated=gated, active=active, year=year)
