"""How many directions the map around one token still has, against d_ff / d_model."""
import numpy as np

import ffn_helpers as fh

PLOT = dict(x=70, y=96, width=560, height=290)


class RankRatio(fh.Picture):
    """ratios (k,) rising, ranks (k, n): rank of the Jacobian at n tokens for each ratio; d_model a whole number."""
    size = 900, 460

    def check(self, ratios, ranks, d_model):
        ratios = fh.checked("ratios", ratios, ("k",))
        if len(ratios) < 2 or (np.diff(ratios) <= 0).any() or ratios[0] <= 0:
            raise ValueError(f"ratios with shape {ratios.shape} should rise from above 0, at least two of them")
        d_model = int(fh.checked("d_model", d_model, ()))
        ranks = fh.checked("ranks", ranks, (len(ratios), "n"))
        if ranks.min() < 0 or ranks.max() > d_model:
            raise ValueError(f"ranks with shape {ranks.shape} should lie between 0 and d_model = {d_model}")
        return dict(ratios=ratios, ranks=ranks, d_model=d_model)

    def build(self):
        v = self.values
        axes = self.axis(**PLOT, xlim=(0, v["ratios"].max() * 1.03), ylim=(0, v["d_model"] * 1.1))
        ticks = np.arange(0, v["ratios"].max() + 0.1)
        axes.set_xticks(ticks, [fh.num(t) for t in ticks])
        axes.set_yticks(np.linspace(0, v["d_model"], 5), [fh.num(t) for t in np.linspace(0, v["d_model"], 5)])
        self.text(PLOT["x"] + PLOT["width"] / 2, PLOT["y"] + PLOT["height"] + 36, "d_ff / d_model", 11, ha="center")
        self.text(20, PLOT["y"] - 16, "rank of the local map: directions of x that y can still answer", 11)
        across = lambda fraction: PLOT["x"] + PLOT["width"] * fraction / 1.03
        up = lambda rank: PLOT["y"] + PLOT["height"] * (1 - rank / v["d_model"] / 1.1)
        self.place = lambda ratio, rank: (across(ratio / v["ratios"].max()), up(rank))
        half, wide = min(2.0, v["ratios"].max()), v["ratios"].max()
        self.line(*zip(self.place(0, v["d_model"]), self.place(wide, v["d_model"])), fh.WEIGHT, 1.2, linestyle="--")
        self.line(*zip(self.place(0, 0), self.place(half, half * v["d_model"] / 2)), fh.HIDDEN, 5, zorder=0.8, solid_capstyle="butt")
        self.text(650, up(v["d_model"]), f"all {v['d_model']} directions", 11)
        self.text(*np.add(self.place(half / 2, half * v["d_model"] / 4), (16, 12)), "d_ff / 2: half of the units", 11)
        self.dots = self.moves(self.patch(fh.EMPTY, fh.SOFT, fh.WEIGHT, 0.8, zorder=3))
        self.medians = self.moves(self.patch(fh.EMPTY, fh.INK, zorder=4))
        self.text(650, up(v["d_model"]) + 36, "●  median token", 11)
        self.text(650, up(v["d_model"]) + 58, "▏ lowest to highest", 10.5)

    def update(self):
        ratios, ranks, d = (self.values[k] for k in ("ratios", "ranks", "d_model"))
        medians, low, high = np.median(ranks, 1), ranks.min(1), ranks.max(1)
        columns = [(*self.place(r, a), self.place(r, b)[1]) for r, a, b in zip(ratios, low, high)]
        self.dots.set_path(fh.joined([fh.rectangles(x - 2, bottom, 4, top - bottom) for x, bottom, top in columns if top != bottom]))
        self.medians.set_path(fh.joined([fh.circle(*self.place(r, m), 6) for r, m in zip(ratios, medians)]))
        at = lambda ratio: fh.num(medians[np.argmin(np.abs(ratios - ratio))])
        full = ratios[low >= d]
        reach = f"from ratio {fh.num(full[0])} on every token has all {d}" if len(full) else f"no ratio here reaches {d} for every token"
        self.title = f"At equal width the ReLU leaves {at(1)} of {d} directions"
        self.sentence = f"Median rank {at(1)} at ratio 1, {at(2)} at ratio 2; {reach}."
        self.alt = f"Rank of the FFN's local map against d_ff / d_model, with ranges. {self.sentence} It follows d_ff / 2 up to d_model."


def default():
    """Random weights, d_model = 64, five networks with twenty tokens each."""
    draw, d, ratios = np.random.default_rng(0), 64, np.array([0.5, 1, 1.5, 2, 3, 4])
    ranks = []
    for ratio in ratios:
        d_ff, row = int(ratio * d), []
        for _ in range(5):
            W1, W2, x = draw.normal(size=(d, d_ff)), draw.normal(size=(d_ff, d)), draw.normal(size=(20, d))
            row += [np.linalg.matrix_rank((W1 * (token @ W1 > 0)) @ W2) for token in x]
        ranks.append(row)
    return RankRatio(ratios=ratios, ranks=np.array(ranks), d_model=d)
