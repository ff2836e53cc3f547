"""Rows that pass through the FFNs while a text is generated, without and with a key-value cache, as counted in a decoder."""
import numpy as np

import ffn_helpers as fh
import model_costs

SHOWN, CELL, TOP = 12, 24, 150                      # steps drawn, size of a cell, upper edge of both triangles
LEFT = 88, 560                                      # left edges of the triangles
BAR, BARS, HEIGHT = 88, 508, 24                     # the long bars: left edge, y of the first, height
WIDE = 720                                          # pixels of the longest bar
AGAIN = fh.tint(fh.INK, 0.42)
PARTS = {"FFN": fh.HIDDEN, "projections": fh.tint(fh.INK, 0.14), "scores": fh.INK}


class KVCache(fh.Picture):
    """without, with_cache (steps,): rows through the FFNs of all layers at each step, counted; layers; gap between both outputs.

    cases: {label: {"FFN", "projections", "scores": FLOPs that the cache saves}}; case: the label of one;
    step: the step that is looked at, 1 to 12.
    """
    size = 1000, 692

    def check(self, without, with_cache, layers, gap, cases: dict, case: str | None = None, step=8):
        without = fh.checked("without", without, ("steps",))
        with_cache = fh.checked("with_cache", with_cache, without.shape)
        layers, step = model_costs.whole("layers", layers), model_costs.whole("step", step, high=SHOWN)
        if len(without) < SHOWN or min(without.min(), with_cache.min()) < layers:
            raise ValueError(f"without and with_cache: expected at least {SHOWN} steps and a row in each layer, got {len(without)} steps and {_many(layers, 'layer')}")
        if not cases or any(not isinstance(saved, dict) or set(saved) != set(PARTS) for saved in cases.values()):
            raise ValueError(f"cases must map labels to FLOPs of {', '.join(PARTS)}")
        case = next(iter(cases)) if case is None else case
        if case not in cases:
            raise ValueError(f"case {fh.brief(case)} is not known; known are {', '.join(map(str, cases))}")
        cases = {label: {name: float(fh.checked(name, saved[name], (), limit=1e30)) for name in PARTS} for label, saved in cases.items()}
        if idle := [label for label, saved in cases.items() if not min(saved.values()) >= 0 < sum(saved.values())]:
            raise ValueError(f"cases: {fh.brief(idle[0])} saves nothing, or less; expected FLOPs of 0 or more, not all 0")
        return dict(without=without, with_cache=with_cache, layers=layers, gap=float(fh.checked("gap", gap, ())), cases=cases, case=case, step=step)

    # ---- what stays
    def build(self):
        steps = np.arange(SHOWN)
        for left, title, words, second in [(LEFT[0], "Without a cache", "every step starts again at token 1", "through the FFN again"),
                                           (LEFT[1], "With a cache", "only the new token is computed", "its key and value are read")]:
            self.text(left, TOP - 48, title, 12, "bold"), self.text(left, TOP - 26, words, 10.5, colour=fh.WEIGHT)
            at = left + 6.4 * CELL
            self.patch(fh.rectangles(at, TOP + 2, 18, 18), fh.INK)
            self.text(at + 28, TOP + 11, "through the FFN, first time")
            self.text(at + 28, TOP + 38, second)
            if left == LEFT[0]:
                self.patch(fh.rectangles(at, TOP + 29, 18, 18), AGAIN)
            else:
                self.patch(fh.rectangles(at + 6.5, TOP + 35.5, 5, 5), "none", fh.INK, 1.3)
            for token in (0, 3, 7, 11):
                self.text(left + CELL * (token + 0.5), TOP + CELL * SHOWN + 14, str(token + 1), colour=fh.WEIGHT, ha="center")
        self.text(20, TOP + CELL * SHOWN + 14, "token", colour=fh.WEIGHT), self.text(20, TOP + CELL / 2, "step", colour=fh.WEIGHT)
        layer = lambda fill, edge="none", width=1.3, z=1: self.moves(self.patch(fh.EMPTY, fill, edge, width, zorder=z))
        self.first, self.again, self.read = layer(fh.INK), layer(AGAIN), layer("none", fh.INK)
        self.later = layer("none", fh.tint(fh.SOFT, 0.8), 1)
        self.frames = layer("none", fh.INK, 2.6, 3)
        for left, step in ((left, step) for left in LEFT for step in steps):
            self.text(left - 10, TOP + CELL * (step + 0.5), str(step + 1), ha="right")
        self.row_counts = [self.moves(self.text(0, 0, "", 11, "bold")) for _ in LEFT]
        self.sums = [(self.moves(self.text(left + 9.4 * CELL, TOP + 84, "", 12, "bold")), self.moves(self.text(left + 9.4 * CELL, TOP + 106, "")))
                     for left in LEFT]
        self._bars()

    def _bars(self):
        self.counted, self.saving = self.moves(self.text(20, BARS - 24, "", 11, "bold")), self.moves(self.text(20, BARS + 84, "", 11, "bold"))
        for y, name in [(BARS, "without"), (BARS + 32, "with"), (BARS + 108, "saved")]:
            self.text(20, y + HEIGHT / 2, name)
        self.long, self.short = self.moves(self.patch(fh.EMPTY, AGAIN)), self.moves(self.patch(fh.EMPTY, fh.INK))
        self.totals = [self.moves(self.text(0, y + HEIGHT / 2, "", 11, "bold")) for y in (BARS, BARS + 32)]
        self.parts = [self.moves(self.patch(fh.EMPTY, fill, fh.INK)) for fill in PARTS.values()]
        self.part_names = [self.moves(self.text(0, BARS + 108 + HEIGHT / 2, "", 10.5, "bold", fh.ZERO if name == "scores" else fh.INK, ha="center"))
                           for name in PARTS]
        self.foot = self.moves(self.text(20, 672, "", colour=fh.WEIGHT))

    # ---- what moves
    def update(self):
        v = self.values
        layers, step, rows = v["layers"], v["step"], (v["without"] / v["layers"], v["with_cache"] / v["layers"])
        self._draw_triangles(rows, step)
        total = v["without"].sum(), v["with_cache"].sum()
        scale = WIDE / total[0]
        self.long.set_path(fh.rectangles(BAR, BARS, WIDE, HEIGHT))
        self.short.set_path(fh.rectangles(BAR, [BARS, BARS + 32], total[1] * scale, HEIGHT))
        self.totals[0].set(text=f"{fh.num(total[0])} passes", x=BAR + WIDE + 12)
        self.totals[1].set(text=f"{fh.num(total[1])}: {fh.num(total[0] / total[1], 1)} times fewer", x=BAR + total[1] * scale + 12)
        self.counted.set_text(f"Rows through the FFNs, {len(rows[0])} steps and {_many(layers, 'layer')}, counted")
        shares = np.array(list(v["cases"][v["case"]].values()))
        shares = shares / shares.sum()
        edges = BAR + WIDE * np.cumsum([0, *shares])
        for patch, text, name, share, left, right in zip(self.parts, self.part_names, PARTS, shares, edges, edges[1:]):
            patch.set_path(fh.rectangles(left, BARS + 108, right - left, HEIGHT))
            text.set(text=f"{name} {100 * share:.0f} %" if right - left > 100 else f"{100 * share:.0f} %" if right - left > 34 else "", x=(left + right) / 2)
        self.saving.set_text(f"FLOPs that the cache saves: {v['case']}")
        same = "the same outputs within 1e-10" if v["gap"] < 1e-10 else f"outputs that are {v['gap']:.0e} apart"
        self.foot.set_text(f"Counted in a random decoder, no prompt; both ways give {same}. The causal mask freezes past rows.")
        again = rows[0][step - 1] - rows[1][step - 1]
        once = (v["with_cache"] == layers).all() and total[1] < total[0]
        self.title = ("A key-value cache spares the FFN too: each token passes through it once" if once else
                      f"{fh.num(total[0])} rows pass through the FFNs without a cache, {fh.num(total[1])} with it")
        self.sentence = (f"Step {step}: without a cache {_rows(rows[0][step - 1])} through each FFN, {fh.num(again)} of them again; with it {fh.num(rows[1][step - 1])}. "
                         f"The FFN is {100 * shares[0]:.0f} % of what is saved.")
        self.alt = (f"Two triangles of steps and tokens. By step {step}, {_many(rows[0][:step].sum(), 'pass')} through each FFN without a cache, "
                    f"{fh.num(rows[1][:step].sum())} with it. In all {fh.num(total[0])} against {fh.num(total[1])}; at {v['case']} the FFN is {100 * shares[0]:.0f} % of the saved FLOPs.")

    def _draw_triangles(self, rows, step):
        """At step t there are t tokens; the last ones of a row are computed, as many as were counted."""
        first, again, read, later, frames = [], [], [], [], []
        for left, counts in zip(LEFT, rows):
            for t in range(1, SHOWN + 1):
                computed = int(round(min(counts[t - 1], t)))
                x, y = left + CELL * np.arange(t), TOP + CELL * (t - 1)
                cells = fh.rectangles(x + 2.5, y + 2.5, CELL - 5, CELL - 5)
                if t > step:
                    later.append(cells)
                    continue
                first.append(fh.rectangles(x[t - 1:] + 2.5, y + 2.5, CELL - 5, CELL - 5))
                again.append(fh.rectangles(x[t - computed:t - 1] + 2.5, y + 2.5, CELL - 5, CELL - 5))
                read.append(fh.rectangles(x[:t - computed] + CELL / 2 - 2.5, y + CELL / 2 - 2.5, 5, 5))
            frames.append(fh.rectangles(left - 1, TOP + CELL * (step - 1) - 1, CELL * step + 2, CELL + 2))
        for patch, paths in [(self.first, first), (self.again, again), (self.read, read), (self.later, later), (self.frames, frames)]:
            patch.set_path(fh.joined(paths))
        for left, counts, text, (total, words) in zip(LEFT, rows, self.row_counts, self.sums):
            text.set(text=_rows(counts[step - 1]).removesuffix(" pass").removesuffix(" passes"), x=left + CELL * step + 10, y=TOP + CELL * (step - 0.5))
            total.set_text(_many(counts[:step].sum(), "pass"))
            words.set_text(f"in each layer by step {step}")


def _many(count, word):
    return f"{fh.num(count)} {word}" + ("" if count == 1 else "es" if word.endswith("s") else "s")


def _rows(count):
    return f"{fh.num(count)} row passes" if count == 1 else f"{fh.num(count)} rows pass"


def _decode(layers, x, past=None):
    """Rows x through a small causal decoder; `past` holds each layer's keys and values of earlier rows, and grows."""
    passed = 0
    for i, (Wq, Wk, Wv, W1, W2) in enumerate(layers):
        k, v = x @ Wk, x @ Wv
        if past is not None:
            k, v = past[i] = [np.vstack(pair) for pair in zip(past[i], (k, v))]
        weights = np.exp(x @ Wq @ k.T) * np.tri(len(x), len(k), len(k) - len(x))
        x = x + weights / weights.sum(1, keepdims=True) @ v
        x, passed = x + np.maximum(x @ W1, 0) @ W2, passed + len(x)
    return x, passed


def default():
    """The picture as published: a random decoder, 3 layers and 40 steps, run both ways, and what a real width saves."""
    rng, d, cases = np.random.default_rng(8), 8, {}
    layers = [[0.2 * rng.normal(size=shape) for shape in ((d, d),) * 3 + ((d, 4 * d), (4 * d, d))] for _ in range(3)]
    text, past = rng.normal(size=(40, d)), [[np.zeros((0, d))] * 2 for _ in layers]
    plain = [_decode(layers, text[:t]) for t in range(1, 41)]
    cached = [_decode(layers, text[t - 1:t], past) for t in range(1, 41)]
    gap = max(np.abs(a[-1] - b[-1]).max() for (a, _), (b, _) in zip(plain, cached))
    for d, tokens in [(4096, 1024), (4096, 8192), (4096, 65536), (768, 1024)]:
        saved = model_costs.Model("one layer", d, 4 * d, 1, 1, 1, 1).cache_saving(tokens)
        cases[f"d_model {d:,}, {tokens:,} tokens"] = dict(zip(PARTS, saved.values()))
    return KVCache(without=[rows for _, rows in plain], with_cache=[rows for _, rows in cached], layers=3, gap=gap, cases=cases)
