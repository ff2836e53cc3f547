"""How many directions the map around one token still has, against d_ff / d_model."""
import numpy as np
from matplotlib.path import Path

import ffn_helpers as fh
import model_costs

PLOT, KEY = dict(x=70, y=104, width=560, height=290), 652


class RankRatio(fh.Picture):
    """ratios (k,) rising, d_model a whole number; at n tokens for each ratio `ranks` (k, n) of the Jacobian and units `on` (k, n)."""
    size = 900, 468

    def check(self, ratios, ranks, on, d_model):
        ratios = fh.checked("ratios", ratios, ("k",))
        if len(ratios) < 2 or (np.diff(ratios) <= 0).any() or ratios[0] <= 0:
            raise ValueError(f"ratios with shape {ratios.shape} should rise from above 0, at least two of them")
        d_model = model_costs.whole("d_model", d_model)
        ranks = fh.checked("ranks", ranks, (len(ratios), "n"))
        if ranks.min() < 0 or ranks.max() > d_model:
            raise ValueError(f"ranks with shape {ranks.shape} should lie between 0 and d_model = {d_model}")
        on = fh.checked("on", on, ranks.shape)
        if on.min() < 0 or (on > ratios[:, None] * d_model).any():
            raise ValueError(f"on with shape {on.shape} should lie between 0 and d_ff = ratio times {d_model}")
        return dict(ratios=ratios, ranks=ranks, on=on, d_model=d_model)

    def build(self):
        widest, d = self.values["ratios"].max(), self.values["d_model"]
        axes = self.axis(**PLOT, xlim=(0, widest * 1.03), ylim=(0, d * 1.1))
        ticks = np.arange(0, widest + 0.1, np.ceil(widest / 10))
        axes.set_xticks(ticks, [fh.num(t) for t in ticks])
        axes.set_yticks(np.linspace(0, d, 5), [fh.num(t) for t in np.linspace(0, d, 5)])
        self.text(PLOT["x"] + PLOT["width"] / 2, PLOT["y"] + PLOT["height"] + 38, "d_ff / d_model", 11, ha="center")
        self.text(20, PLOT["y"] - 16, "rank of the local map: directions of x that y can still answer", 11)
        self.place = lambda ratio, rank: (PLOT["x"] + PLOT["width"] * ratio / widest / 1.03,
                                          PLOT["y"] + PLOT["height"] * (1 - rank / d / 1.1))
        top = self.place(0, d)[1]
        self.line([PLOT["x"], self.place(widest, 0)[0]], [top, top], fh.WEIGHT, 1.2, linestyle="--")
        self.text(KEY, top, f"all {d} directions", 11)
        self.patch(fh.circle(KEY + 7, top + 34, 6), fh.INK)
        self.rectangle(KEY + 5, top + 50, 4, 20, fh.SOFT, fh.WEIGHT, 0.8)
        self.rectangle(KEY, top + 83, 14, 5, fh.HIDDEN)
        for row, words in enumerate(("median token", "lowest to highest")):
            self.text(KEY + 24, top + 34 + 26 * row, words)
        self.share = self.moves(self.text(KEY + 24, top + 86, ""))
        self.units = self.moves(self.patch(fh.EMPTY, edge=fh.HIDDEN, width=5, zorder=0.8, capstyle="butt"))
        self.ranges = self.moves(self.patch(fh.EMPTY, fh.SOFT, fh.WEIGHT, 0.8, zorder=3))
        self.medians = self.moves(self.patch(fh.EMPTY, fh.INK, zorder=4))

    def update(self):
        ratios, ranks, on, d = (self.values[k] for k in ("ratios", "ranks", "on", "d_model"))
        medians, low, high = np.median(ranks, 1), ranks.min(1), ranks.max(1)
        share = (on / (ratios[:, None] * d)).mean()
        ends = min(1 / share, ratios.max()) if share > 1e-9 else ratios.max()        # where the units on number d_model
        self.units.set_path(Path([self.place(0, 0), self.place(ends, ends * share * d)]))
        self.share.set_text(f"units on: {100 * share:.0f} % of d_ff")
        columns = [(*self.place(r, a), self.place(r, b)[1]) for r, a, b in zip(ratios, low, high)]
        self.ranges.set_path(fh.joined([fh.rectangles(x - 2, bottom, 4, top - bottom) for x, bottom, top in columns if top != bottom]))
        self.medians.set_path(fh.joined([fh.circle(*self.place(r, m), 6) for r, m in zip(ratios, medians)]))
        one, two = (int(np.argmin(np.abs(ratios - near))) for near in (1, 2))
        full = next((r for k, r in enumerate(ratios) if (low[k:] >= d).all()), None)
        reach = f"from ratio {fh.num(full)} on every token has all {d}" if full is not None else f"no ratio here reaches {d} for every token"
        self.title = ("At equal width" if ratios[one] == 1 else f"At ratio {fh.num(ratios[one])}") + f" the ReLU leaves {fh.num(medians[one])} of {d} directions"
        self.sentence = f"Median rank {fh.num(medians[one])} at ratio {fh.num(ratios[one])}, {fh.num(medians[two])} at ratio {fh.num(ratios[two])}; {reach}."
        self.alt = (f"Rank of the FFN’s local map against d_ff / d_model, with ranges. {self.sentence} "
                    f"Line: units on, {100 * share:.0f} % of d_ff.")


def default():
    """Random weights, d_model = 64, five networks with twenty tokens each."""
    draw, d, ratios = np.random.default_rng(0), 64, np.array([0.5, 1, 1.5, 2, 3, 4])
    ranks, on = [], []
    for ratio in ratios:
        d_ff, row, units = int(ratio * d), [], []
        for _ in range(5):
            W1, W2, x = draw.normal(size=(d, d_ff)), draw.normal(size=(d_ff, d)), draw.normal(size=(20, d))
            row += [np.linalg.matrix_rank((W1 * (token @ W1 > 0)) @ W2) for token in x]
            units += list((x @ W1 > 0).sum(1))
        ranks.append(row), on.append(units)
    return RankRatio(ratios=ratios, ranks=np.array(ranks), on=np.array(on), d_model=d)
