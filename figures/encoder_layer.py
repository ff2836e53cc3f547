"""One encoder layer as a diagram that changes with its order and its parts, and 12 of them in a row.

Left: three tokens pass down one layer, one column each; a tray shows which tokens have reached a column.
Right: what 12 such layers do to the size and the spread of the tokens and to the gradient.
"""
import numpy as np
from matplotlib.path import Path

import ffn_helpers as fh

ORDERS = {"post": "Post-norm", "pre": "Pre-norm", "parallel": "Parallel"}
ROWS = {"post": "in attention add1 norm1 mid ffn add2 norm2 out", "pre": "in norm1 attention add1 mid norm2 ffn add2 out",
        "parallel": "in norm1 attention new read ffn add2 out"}
HEIGHT = dict(attention=100, ffn=100, add1=24, add2=24, norm1=20, norm2=20)       # any other row is a tray
TRAY, TOP, BOTTOM = 30, 116, 640
COLUMNS, PITCH = np.array([162, 252, 342]), 90
LEFT, RIGHT = 117, 387                                # trays; boxes are 10 wider on both sides
CABLES, SIDE, NOTES = (50, 84), 408, 424             # residual cables, the cable on the right, the words
PLOT_X, PLOT_W, PLOT_H, PLOT_Y = 726, 246, 108, (140, 322, 504)
LIMITS = dict(size=(0, 3), spread=(0, 1), gradient=(-20, 2))          # what the plots span; the gradient in powers of ten


class EncoderLayer(fh.Picture):
    """Results for every setting, first five axes: order (post, pre, parallel), attention, ffn, residual, norm (0 off, 1 on).

    weights (3, 2, 2, 2, 2, 2 heads, 3, 3)  attention, row reads column       hidden (3, 2, 2, 2, 2, 3, 64)  h of each token
    reach (3, 2, 2, 2, 2, 3, 3, 3)          size of the Jacobian block (column of the layer, token that comes in) after
                                            attention, at the FFN's entrance, at the end of the layer
    size, spread, gradient (3, 2, 2, 2, 2, layers + 1)   through the depth: rms of the tokens, their distance from
                                            their mean ÷ their size, gradient norm relative to the last layer's
    """
    size = 1000, 694

    def check(self, weights, hidden, reach, size, spread, gradient, names: fh.SEVERAL = ("the", "cat", "sat"), order: str = "post",
              attention: fh.FLAG = True, ffn: fh.FLAG = True, residual: fh.FLAG = True, norm: fh.FLAG = True):
        given, start = locals(), (3, 2, 2, 2, 2)
        shapes = dict(weights=(2, 3, 3), hidden=(3, 64), reach=(3, 3, 3), size=("layers + 1",), spread=("layers + 1",), gradient=("layers + 1",))
        arrays = {name: fh.checked(name, given[name], start + shape, limit=1e12) for name, shape in shapes.items()}
        for name, array in arrays.items():
            if array.min(initial=0) < 0:
                raise ValueError(f"{name} with shape {array.shape} holds {array.min():.3g}, expected sizes, not below 0")
        for name, (low, high) in LIMITS.items():
            low, high = (10.0 ** low, 10.0 ** high) if name == "gradient" else (low, high)
            if not arrays[name].size:
                raise ValueError(f"{name} has shape {arrays[name].shape}, expected two layers or more")
            if arrays[name].min() < low or arrays[name].max() > high * (1 + 1e-9):
                raise ValueError(f"{name} runs from {arrays[name].min():.2g} to {arrays[name].max():.2g}, expected {low:g} to {high:g}")
        size, spread, gradient = (arrays[name] for name in ("size", "spread", "gradient"))
        if not size.shape == spread.shape == gradient.shape or size.shape[-1] < 2:
            raise ValueError(f"size, spread and gradient have shapes {size.shape}, {spread.shape}, {gradient.shape}, expected one shape, two layers or more")
        if len(names) != 3 or not all(isinstance(name, str) and 1 <= len(name) <= 6 for name in names):
            raise ValueError(f"names must be 3 words of 1 to 6 letters, got {fh.brief(names)}")
        if order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {fh.brief(order)}")
        switches = dict(attention=attention, ffn=ffn, residual=residual, norm=norm)
        return dict(arrays, names=tuple(names), order=order, **{name: bool(on) for name, on in switches.items()})

    # ---- what stays
    def build(self):
        for x, name in zip(COLUMNS, self.values["names"]):
            self.text(x, TOP - 14, name, 12, ha="center")
        self.text(20, 674, "Markers: tokens that have reached a column; area: influence. Line width: attention weight. Bars: h. Random weights.", colour=fh.WEIGHT)
        patch = lambda *args, **more: self.moves(self.patch(fh.EMPTY, *args, **more))
        self.off = patch("none", fh.SOFT, 1.2, linestyle="--")
        self.straight = patch(fh.INK)
        self.cable = patch("none", fh.INK, 2.6, capstyle="butt")
        self.on = patch(fh.ZERO, fh.INK, 1.4, zorder=1.2)
        self.box = patch(fh.ZERO, fh.WEIGHT, 2.2, zorder=1.2)
        self.slabs = patch(fh.WEIGHT, zorder=1.3)
        self.units = patch(fh.tint(fh.HIDDEN, 0.13), fh.HIDDEN, 1.2, zorder=1.3)
        self.bars = patch(fh.POSITIVE, zorder=1.4)
        self.dashes = patch(fh.ZERO, zorder=1.4)
        self.bands = [patch(colour, zorder=1.4) for colour in (fh.INK, fh.WEIGHT)]
        self.divider = patch("none", fh.SOFT, 1, zorder=1.3)
        self.ink = patch(fh.INK, zorder=1.5)
        word = lambda size=10.5, weight="normal", **more: self.moves(self.text(0, 0, "", size, weight, zorder=2, **more))
        self.norms = [word(ha="center") for _ in range(6)]
        self.matrices = [word(11, "bold", ha="center") for _ in range(2)]
        for text in self.matrices:
            text.set_color(fh.ZERO)
        self.labels = [(word(12, "bold"), word(colour=fh.WEIGHT)) for _ in range(9)]
        self.past = [word(ha="center", rotation=90) for _ in range(2)]
        for y in PLOT_Y:
            self.line((PLOT_X, PLOT_X, PLOT_X + PLOT_W), (y, y + PLOT_H, y + PLOT_H), width=0.9)
        layers = self.values["size"].shape[-1] - 1
        for i in sorted({0, layers // 3, 2 * layers // 3, layers}):
            x = PLOT_X + PLOT_W * i / layers
            self.text(x, PLOT_Y[-1] + PLOT_H + 14, str(i), ha="center")
            self.patch(fh.rectangles(x - 0.5, np.add(PLOT_Y, PLOT_H), 1, 4), fh.INK)
        self.text(PLOT_X + PLOT_W / 2, PLOT_Y[-1] + PLOT_H + 34, f"layers passed, of {layers}", ha="center")
        self.scales = []
        for name, y, note in zip(("size", "spread", "gradient"), PLOT_Y, ("rms of the tokens; pale: all parts on", "distance from their mean ÷ their size", "÷ gradient at the last layer")):
            self.text(PLOT_X - 42, y - 24, note, colour=fh.WEIGHT)
            low, high = LIMITS[name]
            self.scales.append(lambda values, y=y, low=low, high=high, f=np.log10 if name == "gradient" else np.asarray:
                               y + PLOT_H * (1 - (f(values) - low) / (high - low)))
            ticks = [(value, fh.num(value)) for value in {"size": (0, 1, 2, 3), "spread": (0, 0.5, 1)}.get(name, ())]
            for value, label in ticks or [(10.0 ** power, _power(power)) for power in (-20, -10, 0)]:
                self.text(PLOT_X - 8, self.scales[-1](value), label, ha="right")
            if name != "spread":
                self.rectangle(PLOT_X, self.scales[-1](1) - 0.4, PLOT_W, 0.8, fh.SOFT, line=0, zorder=0.6)
        self.heading = [self.moves(self.text(PLOT_X - 42, y - 44, "", 12, "bold")) for y in PLOT_Y]
        self.whole = patch("none", fh.SOFT, 3.2, joinstyle="round", zorder=0.8)
        self.curve, self.dots = patch("none", fh.INK, 1.8, joinstyle="round"), patch(fh.INK)

    # ---- what moves
    def update(self):
        v = self.values
        order, on = v["order"], {name: v[name] for name in ("attention", "ffn", "residual", "norm")}
        self.at = (list(ORDERS).index(order), *(int(flag) for flag in on.values()))
        self._place(order)
        alive = self._alive(order, on)
        self._draw_frames(alive)
        self._draw_flow(order, alive)
        self._draw_parts(alive)
        self._draw_words(order, on, alive)
        self._draw_plots()
        self._say(order, on)

    def _place(self, order):
        names = ROWS[order].split()
        heights = [HEIGHT.get(name, TRAY) for name in names]
        touching = [a[:3] == "add" and b[:4] == "norm" for a, b in zip(names, names[1:])]
        gap = (BOTTOM - TOP - sum(heights)) / touching.count(False)
        tops = TOP + np.cumsum([0, *(h + gap * (not t) for h, t in zip(heights, touching))])
        self.rows = {name: (float(top), height) for name, top, height in zip(names, tops, heights)}

    def _alive(self, order, on):
        """Which rows are in use."""
        a, f, r, n = on.values()
        alive = dict(attention=a, ffn=f, add1=a and r, norm1=a and n, mid=True, add2=f and r, norm2=f and n, out=True, new=a, read=f)
        if order == "parallel":
            alive.update(norm1=n and (a or f), add2=a + f + r > 1 and (a or f))
        return {name: name == "in" or alive[name] for name in self.rows}

    def _draw_frames(self, alive):
        cells = {name: fh.rectangles(LEFT + PITCH * np.arange(3), y, PITCH, height) for name, (y, height) in self.rows.items()
                 if name not in ("attention", "ffn")}
        boxes = {name: fh.rectangles(LEFT - 10, self.rows[name][0], RIGHT - LEFT + 20, 100) for name in ("attention", "ffn")}
        outline = lambda name: fh.rectangles(LEFT, self.rows[name][0], RIGHT - LEFT, self.rows[name][1])
        self.on.set_path(fh.joined([cells[name] for name in cells if alive[name]]))
        self.box.set_path(fh.joined([boxes[name] for name in boxes if alive[name]]))
        self.off.set_path(fh.joined([boxes.get(name) or outline(name) for name in self.rows if not alive[name]]))

    def _draw_flow(self, order, alive):
        """The three columns from row to row, and the cables that go past."""
        names, flow, cables, ink = list(self.rows), [], [], []
        low = lambda name: self.rows[name][0] + self.rows[name][1]
        middle = lambda name: self.rows[name][0] + self.rows[name][1] / 2
        if order == "parallel":
            starts = [("in", "norm1")]
            if alive["attention"]:
                starts += [("norm1", "attention"), ("attention", "new")]
            if alive["ffn"]:
                starts += [("read", "ffn"), ("ffn", "add2")]
            starts += [("add2", "out")]
        else:
            starts = list(zip(names, names[1:]))
        for a, b in starts:
            head = 7 if b in ("attention", "ffn", "out", "add1", "add2") and alive[b] else 0
            if self.rows[b][0] > low(a):
                flow += [fh.arrow_path((x, low(a)), (x, self.rows[b][0]), head, 1.5) for x in COLUMNS]
        for name in names:                            # a row that is off lets the column pass
            if not alive[name] and not (order == "parallel" and name in ("attention", "new", "read", "ffn")):
                flow += [fh.arrow_path((x, self.rows[name][0]), (x, low(name)), 0, 1.5) for x in COLUMNS]
        self.straight.set_path(fh.joined(flow))

        def cable(start, end, x, down=0, side=LEFT):
            ys, turn = (middle(start), middle(end) + down), 8 if side == RIGHT else -8
            cables.append(Path([(side, ys[0]), (x, ys[0]), (x, ys[1]), (side + turn, ys[1])]))
            ink.append(fh.arrow_path((side + 1.6 * turn, ys[1]), (side, ys[1]), 11, 2))
        past = []
        if order == "parallel":
            if alive["add2"] and self.values["residual"]:
                cable("in", "add2", CABLES[0], 6)
                past.append((CABLES[0], "in", "add2"))
            if alive["new"]:
                cable("new", "add2", CABLES[1], -6)
            if alive["ffn"]:
                cable("norm1", "read", SIDE, side=RIGHT)
            if not (alive["attention"] or alive["ffn"]):      # nothing is left: x goes by
                cable("in", "out", CABLES[0])
        else:
            for start, end in (("in", "add1"), ("mid", "add2")):
                if alive[end]:
                    cable(start, end, CABLES[1])
                    past.append((CABLES[1], start, end))
        for i, text in enumerate(self.past):
            text.set_text("residual: goes past" if i < len(past) else "")
            if i < len(past):
                x, start, end = past[i]
                text.set_position((x - 14, (middle(start) + middle(end)) / 2))
        for name in ("add1", "add2"):
            if alive.get(name):
                ink += [fh.rectangles(COLUMNS - 7, middle(name) - 1.2, 14, 2.4), fh.rectangles(COLUMNS - 1.2, middle(name) - 7, 2.4, 14)]
        self.cable.set_path(fh.joined(cables))
        reach = self.values["reach"][self.at]
        trays = {"in": np.eye(3), "mid": reach[0], "new": reach[0], "read": reach[1], "out": reach[2]}
        for name in self.rows:
            if name in trays and alive[name]:
                ink += _tray(trays[name], middle(name))
        self.ink.set_path(fh.joined(ink))

    def _draw_parts(self, alive):
        top = self.rows["attention"][0]
        weights = self.values["weights"][self.at]
        for head, bands in enumerate(self.bands):
            y = top + 50 * head
            bands.set_path(fh.joined([_band(COLUMNS[j], COLUMNS[i], y + 2, y + 48, 9 * weights[head, i, j]) for i in range(3) for j in range(3)])
                           if alive["attention"] else fh.EMPTY)
        self.divider.set_path(Path([(LEFT - 10, top + 50), (RIGHT + 10, top + 50)]) if alive["attention"] else fh.EMPTY)
        top = self.rows["ffn"][0]
        if not alive["ffn"]:
            for artist in (self.slabs, self.units, self.bars, self.dashes):
                artist.set_path(fh.EMPTY)
        else:
            centre, wide = (LEFT + RIGHT) / 2, RIGHT - LEFT
            self.slabs.set_path(fh.joined([fh.trapezoid(centre, top + 4, wide - 40, wide + 6, 22), fh.trapezoid(centre, top + 74, wide + 6, wide - 40, 22)]))
            self.units.set_path(fh.rectangles(COLUMNS - 42, top + 30, 84, 40))
            hidden = self.values["hidden"][self.at].reshape(3, 32, 2).max(axis=2)       # two units a bar
            x = (COLUMNS - 40)[:, None] + 2.5 * np.arange(32)
            length = hidden / (self.values["hidden"].max() or 1) * 38
            self.bars.set_path(fh.rectangles(x, top + 70 - length, 2, length))
            steps = np.array([5, 11, 17, 75, 81, 87])
            self.dashes.set_path(fh.rectangles(COLUMNS[:, None] - 0.7, top + steps, 1.4, 3.6))
        for text, y, name in zip(self.matrices, (15, 85), ("W1, b1", "W2, b2")):
            text.set_text(name if alive["ffn"] else "")
            text.set_position((COLUMNS[:2].mean(), top + y))

    def _draw_words(self, order, on, alive):
        middle = lambda name: self.rows[name][0] + self.rows[name][1] / 2
        norms = [(x, middle(name)) for name in ("norm1", "norm2") if alive.get(name) for x in COLUMNS]
        for i, text in enumerate(self.norms):
            text.set_text("norm" if i < len(norms) else "")
            text.set_position(norms[i] if i < len(norms) else (0, 0))
        notes = self._notes(order, on, alive)
        for i, (bold, plain) in enumerate(self.labels):
            name, (title, line) = notes[i] if i < len(notes) else ("in", ("", ""))
            y = middle(name) + (10 if order == "post" and name[:3] == "add" else 0)
            bold.set_text(title)
            plain.set_text(line)
            bold.set_position((NOTES, y - (9 if line else 0)))
            plain.set_position((NOTES, y + 10))

    def _notes(self, order, on, alive):
        """Row name and its two lines of words."""
        held = lambda stage: _held(self.values["reach"][self.at][stage])
        part = {"add1": "attention", "add2": "FFN"}
        notes = {"in": ("Embedding + position", "one token a column"),
                 "attention": ("Multi-head attention", "↔ across tokens: head 1, head 2") if alive["attention"] else ("Attention is off", ""),
                 "ffn": ("Feed-forward network", "↕ each token alone") if alive["ffn"] else ("FFN is off", ""),
                 "mid": ("After attention", held(0)), "new": ("What attention adds", held(0) if alive.get("new") else ""),
                 "read": ("What the FFN reads", held(1) if alive.get("read") else ""), "out": ("To the next layer", held(2))}
        if not on["attention"]:
            notes["mid"] = ("What the FFN reads" if on["ffn"] else "Unchanged tokens", held(0))
        for name in ("norm1", "norm2"):
            if order != "post" and alive.get(name):
                notes[name] = ("Norm", "")
        for name, what in part.items():
            x = "x + " * on["residual"]
            if order == "parallel" and name == "add2":
                terms = ["x"] * on["residual"] + ["attention"] * on["attention"] + ["FFN"] * on["ffn"]
                if alive["add2"]:
                    notes[name] = ("Add", " + ".join(terms))
            elif order == "post" and alive[name.replace("add", "norm")]:
                notes[name] = ("Add, then norm" if on["residual"] else "Norm", f"norm({x}{what})")
            elif alive.get(name):
                notes[name] = ("Add", x + what + "(norm)" * (order == "pre" and on["norm"]))
        return [(name, notes[name]) for name in self.rows if name in notes]

    def _draw_plots(self):
        v, whole = self.values, (self.at[0], 1, 1, 1, 1)
        curves, shadows, dots = [], [], []
        xs = PLOT_X + PLOT_W * np.linspace(0, 1, v["size"].shape[-1])
        for name, scale in zip(("size", "spread", "gradient"), self.scales):
            shadows.append(Path(np.c_[xs, scale(v[name][whole])]))
            now = np.c_[xs, scale(v[name][self.at])]
            curves.append(Path(now))
            dots.append(fh.rectangles(*(now - 2.5).T, 5, 5))
        self.curve.set_path(fh.joined(curves)), self.whole.set_path(fh.joined(shadows)), self.dots.set_path(fh.joined(dots))
        size, spread, gradient = (v[name][self.at] for name in ("size", "spread", "gradient"))
        for text, words in zip(self.heading, (f"Size: {_value(size[0])} → {_value(size[-1])}", f"Spread: {_value(spread[0])} → {_value(spread[-1])}",
                                              f"Gradient at the input: {_value(gradient[0])}")):
            text.set_text(words)

    def _say(self, order, on):
        v = self.values
        missing = [{"ffn": "the FFN", "residual": "residuals"}.get(name, name) for name, flag in on.items() if not flag]
        mid, read = v["reach"][self.at][0], v["reach"][self.at][1]
        across = lambda m: np.count_nonzero(m - np.diag(np.diag(m)))
        layers = v["size"].shape[-1] - 1
        name = ORDERS[order] if on["norm"] or order == "parallel" else "In sequence"
        if missing:
            self.title = f"{name} without {' and '.join([', '.join(missing[:-1])] * (len(missing) > 1) + missing[-1:])}"
            self.title += (": the tokens never meet" if not across(v["reach"][self.at][2]) else
                           f": {layers} layers make the tokens one" if v["spread"][self.at][-1] < 0.01 else ": the tokens stay apart")
        else:
            self.title = {"post": "Post-norm, the original order: each sum is normed, so the stream keeps its size",
                          "pre": "Pre-norm: each part reads a normed copy, the stream itself only adds up",
                          "parallel": "Parallel: attention and FFN read the same tokens, not yet mixed"}[order]
        size, spread, gradient = (v[name][self.at] for name in ("size", "spread", "gradient"))
        self.sentence = (f"{layers} layers: size {_value(size[0])} → {_value(size[-1])}, spread {_value(spread[0])} → {_value(spread[-1])}; "
                         f"the gradient at the input is {_value(gradient[0])} times that at the end.")
        reads = f"; its FFN reads {'' if across(read) else 'un'}mixed tokens" if on["ffn"] else ""
        self.alt = (f"One encoder layer, {name.lower()}{', off: ' * bool(missing)}{', '.join(missing)}{reads}. {layers} layers: "
                    f"size {_value(size[0])} → {_value(size[-1])}, spread {_value(spread[0])} → {_value(spread[-1])}, gradient at the input {_value(gradient[0])}.")


def _value(value):
    """Two digits that count; powers of ten where a plain number would be long."""
    if value == 0:
        return "0"
    if 0.01 <= value < 1000:
        return fh.num(value, 0 if value >= 100 else 1 if value >= 10 else 2)
    power = int(np.floor(np.log10(value)))
    return f"{value / 10.0 ** power:.0f} · {_power(power)}" if round(value / 10.0 ** power) < 10 else _power(power + 1)


def _power(t):
    return "1" if t == 0 else "10" + "".join("⁻" if c == "-" else "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(int(t)))


def _held(reach):
    """How many tokens a column holds."""
    counts = sorted({int(n) for n in np.count_nonzero(reach, axis=1)})
    return "each holds only itself" if counts == [1] else f"each holds {'all ' * (counts == [3])}{' or '.join(map(str, counts))} tokens"


def _tray(reach, y):
    """Markers of the tokens that have reached each column; their area is the influence."""
    shapes = []
    for column, row in zip(COLUMNS, reach):
        for token, share in enumerate(row / max(row.max(), 1e-300)):
            x, r = column + 28 * (token - 1), 8.5 * np.sqrt(share)
            if share > 0:
                shapes.append(fh.circle(x, y, r) if token == 0 else fh.rectangles(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r) if token == 2
                              else fh.closed([(x, y - 1.15 * r), (x + 1.1 * r, y + 0.85 * r), (x - 1.1 * r, y + 0.85 * r)]))
    return shapes


def _band(start, end, top, bottom, width):
    """An S-shaped band from one column to another."""
    t = np.linspace(0, 1, 11)
    x, y = start + (end - start) * (3 * t ** 2 - 2 * t ** 3), top + (bottom - top) * t
    return fh.closed(np.vstack([np.c_[x - width / 2, y], np.c_[x + width / 2, y][::-1]]))


def default(layers=12):
    """The picture as published: 12 random layers, 16 → 64 → 16, two heads, three tokens.

    Derivatives by a complex step of 1e-30, one copy of the tokens for each of their 48 numbers: exact, and
    exactly 0 where no path leads.
    """
    rng = np.random.default_rng(3)
    start = lambda *shape, n: rng.uniform(-1, 1, shape) / n ** 0.5           # as torch starts a linear layer of n inputs
    stack = [[start(4, 16, 16, n=16), start(4, 16, n=16), start(16, 64, n=16), start(64, n=16), start(64, 16, n=64), start(16, n=64)] for _ in range(layers)]
    x, probe = rng.normal(size=(2, 3, 16))
    steps = 1e-30j * np.eye(48).reshape(48, 3, 16)
    heads = lambda x: x.reshape(*x.shape[:-1], 2, 8).swapaxes(-2, -3)

    def attend(x, w):
        q, k, v = (heads(x @ w[0][i] + w[1][i]) for i in range(3))
        scores = np.exp(q @ k.swapaxes(-1, -2) / 8 ** 0.5)
        weights = scores / scores.sum(axis=-1, keepdims=True)
        return (weights @ v).swapaxes(-2, -3).reshape(x.shape) @ w[0][3] + w[1][3], weights

    def feed(x, w):
        z = x @ w[2] + w[3]
        h = z * (z.real > 0)
        return h @ w[4] + w[5], h

    def run(x, w, order, attention, ffn, residual, norm):
        """After attention, at the FFN's entrance, at the end; attention weights and h."""
        def normed(x):
            away = x - x.mean(axis=-1, keepdims=True)
            return away / np.sqrt((away ** 2).mean(axis=-1, keepdims=True) + 1e-5) if norm else x
        if order == "parallel":
            n = normed(x)
            (mixed, weights), (new, h) = attend(n, w), feed(n, w)
            return mixed * attention, n, residual * x + mixed * attention + new * ffn if attention or ffn else x, weights, h
        inner, outer = (normed, lambda x: x) if order == "pre" else (lambda x: x, normed)
        mixed, weights = attend(inner(x), w)
        after = outer(residual * x + mixed) if attention else x
        new, h = feed(inner(after), w)
        return after, inner(after), outer(residual * after + new) if ffn else after, weights, h

    shapes = dict(weights=(2, 3, 3), hidden=(3, 64), reach=(3, 3, 3), size=(layers + 1,), spread=(layers + 1,), gradient=(layers + 1,))
    out = {name: np.zeros((3, 2, 2, 2, 2) + shape) for name, shape in shapes.items()}
    for at in np.ndindex(3, 2, 2, 2, 2):
        setting, stream, slopes = (list(ORDERS)[at[0]], *at[1:]), [x], []
        out["weights"][at], out["hidden"][at] = run(x, stack[0], *setting)[3:]
        for i, w in enumerate(stack):
            stages = run(stream[-1] + steps, w, *setting)[:3]
            slopes.append(stages[2].imag.reshape(48, 48) / 1e-30)            # row: what goes in; column: what comes out
            if i == 0:
                blocks = np.array([stage.imag.reshape(3, 16, 3, 16) / 1e-30 for stage in stages])
                out["reach"][at] = np.sqrt((blocks ** 2).sum(axis=(2, 4))).swapaxes(1, 2)
            stream.append(stages[2][0].real)
        gradient = [probe.ravel()]
        for slope in slopes[::-1]:
            gradient.append(slope @ gradient[-1])
        gradient = np.linalg.norm(gradient[::-1], axis=1)
        stream = np.array(stream)
        size = np.linalg.norm(stream, axis=(1, 2))
        out["size"][at], out["gradient"][at] = size / 48 ** 0.5, gradient / gradient[-1]
        out["spread"][at] = np.linalg.norm(stream - stream.mean(axis=1, keepdims=True), axis=(1, 2)) / size
    return EncoderLayer(**out)
