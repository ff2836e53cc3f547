"""How far the tokens stay apart from layer to layer: with and without skips, with and without MLPs.

The same four curves twice, above on a linear scale and below on a logarithmic one; under each depth the
tokens themselves, in two of their coordinates.
"""
import numpy as np
from matplotlib.path import Path

import ffn_helpers as fh

LEFT, WIDTH = 118, 720
ROUNDING = 1e-15                                      # what float64 cannot tell from nothing
LINEAR, LOG = (112, 168), (332, 180)                  # top and height of the two plots
LOWEST, HIGHEST = -16, 1                              # decades of the lower plot
CLOUDS, BOX = (562, 616), 46                          # top of the two rows of clouds, side of a box
RING = 4.6 * np.c_[np.cos(np.arange(12) * np.pi / 6), np.sin(np.arange(12) * np.pi / 6)]
NAMES = "attention only", "attention + MLP", "attention + skip", "all three"


class RankCollapse(fh.Picture):
    """Distance of the tokens from their mean ÷ their size, for several ways to begin.

    distance (starts, 4, seeds, layers + 1)   curves: attention, attention + MLP, attention + skip, all three
    clouds (starts, 2, layers + 1, tokens, 2) one seed's tokens around their mean ÷ their rms: attention only, all three
    names (starts,)  what each start is called        start  the one that is shown
    """
    size = 1000, 704

    def check(self, distance, clouds, names: fh.SEVERAL, start: str | None = None):
        names = tuple(names)
        if not names or not all(isinstance(name, str) and name for name in names):
            raise ValueError(f"names must be words, got {fh.brief(names)}")
        start = names[0] if start is None else start
        if start not in names:
            raise ValueError(f"start must be one of {', '.join(names)}, got {fh.brief(start)}")
        distance = fh.checked("distance", distance, (len(names), 4, "seeds", "layers + 1"), limit=1)
        if distance.shape[-1] < 4 or not distance.size or distance.min() < 0:
            raise ValueError(f"distance with shape {distance.shape} should hold at least 3 layers and no negative numbers")
        clouds = fh.checked("clouds", clouds, (len(names), 2, distance.shape[-1], "tokens", 2))
        return dict(distance=distance, clouds=clouds, names=names, start=start)

    # ---- what stays
    def build(self):
        layers = self.values["distance"].shape[-1] - 1
        self.x = LEFT + 22 + (WIDTH - 44) * np.arange(layers + 1) / layers
        self.linear = lambda d: LINEAR[0] + LINEAR[1] * (1 - np.asarray(d) / 1.05)
        self.log = lambda d: LOG[0] + LOG[1] * (1 - (np.log10(d) - LOWEST) / (HIGHEST - LOWEST))
        self.text(20, LINEAR[0] - 22, "Distance of the tokens from their mean ÷ their size", 12, "bold")
        self.text(20, LOG[0] - 22, "The same on a logarithmic scale", 12, "bold")
        for top, height in (LINEAR, LOG):
            self.line((LEFT, LEFT, LEFT + WIDTH), (top, top + height, top + height), width=0.9)
        for value in (0, 0.5, 1):
            self.text(LEFT - 8, self.linear(value), fh.num(value), ha="right")
        for power, label in ((0, "1"), (-4, "10⁻⁴"), (-8, "10⁻⁸"), (-12, "10⁻¹²")):
            self.text(LEFT - 8, self.log(10.0 ** power), label, ha="right")
        self.rectangle(LEFT, self.log(ROUNDING), WIDTH, LOG[0] + LOG[1] - self.log(ROUNDING), fh.tint(fh.INK, 0.1), line=0, zorder=0.5)
        self.text(LEFT + WIDTH + 8, self.log(10.0 ** (LOWEST + 0.5)), "rounding", colour=fh.WEIGHT)
        for i, x in enumerate(self.x):
            self.text(x, LOG[0] + LOG[1] + 14, str(i), ha="center")
        self.text(LEFT + WIDTH + 8, LOG[0] + LOG[1] + 14, "layers", 10.5)
        self.patch(fh.rectangles(np.tile(self.x - BOX / 2, 2), np.repeat(CLOUDS, layers + 1), BOX, BOX), "none", fh.SOFT, 1)
        for top, words in zip(CLOUDS, (("attention", "only"), ("all", "three"))):
            for i, word in enumerate(words):
                self.text(20, top + 14 + 17 * i, word, 11, "bold")
            self.text(LEFT + WIDTH + 8, top + BOX / 2, f"{self.values['clouds'].shape[3]} tokens", colour=fh.WEIGHT)
        patch = lambda *args, **more: self.moves(self.patch(fh.EMPTY, *args, **more))
        self.range = patch(fh.tint(fh.INK, 0.12), zorder=0.7)
        self.solid, self.dotted = patch("none", fh.INK, 2.2), patch("none", fh.INK, 2.2, linestyle=":")
        self.rings, self.squares = patch(fh.ZERO, fh.INK, 1.4, zorder=2), patch(fh.HIDDEN, fh.INK, 1.2, zorder=2)
        self.points = patch(fh.INK)
        self.ends = [self.moves(self.text(LEFT + WIDTH + 8, 0, "")) for _ in range(3)]
        self.falls = [self.moves(self.text(0, 0, "")) for _ in range(2)]
        self.footer = self.moves(self.text(20, 684, "", colour=fh.WEIGHT))

    # ---- what moves
    def update(self):
        v = self.values
        at = v["names"].index(v["start"])
        runs = np.maximum(v["distance"][at], ROUNDING)      # below, it differs from processor to processor
        middle, low, high = np.median(runs, axis=1), runs.min(axis=1), runs.max(axis=1)
        ring, square, areas, lines = [], [], [], [[], []]
        for place in (self.linear, self.log):
            for k in range(4):
                y = place(middle[k])
                lines[k < 2].append(Path(np.c_[self.x, y]))
                areas.append(fh.closed(np.vstack([np.c_[self.x, place(low[k])], np.c_[self.x, place(high[k])][::-1]])))
                (square if k % 2 else ring).extend(
                    fh.rectangles(x - 4, b - 4, 8, 8) if k % 2 else fh.closed(np.array([x, b]) + RING) for x, b in zip(self.x, y))
        for patch, paths in ((self.solid, lines[0]), (self.dotted, lines[1]), (self.range, areas), (self.rings, ring), (self.squares, square)):
            patch.set_path(fh.joined(paths))
        cloud = np.clip(v["clouds"][at] * BOX / 7, -BOX / 2 + 2, BOX / 2 - 2)       # a box is 7 rms wide
        x = self.x[None, :, None] + cloud[..., 0] - 1.1
        y = np.add(CLOUDS, BOX / 2)[:, None, None] + cloud[..., 1] - 1.1
        self.points.set_path(fh.rectangles(x, y, 2.2, 2.2))
        self._draw_labels(middle)
        self._say(v["start"], runs, middle)

    def _draw_labels(self, middle):
        last = [(float(self.linear(middle[2, -1])), NAMES[2]), (float(self.linear(middle[3, -1])), NAMES[3]),
                (float(self.linear(middle[:2, -1].max())), "no skip")]
        y = -np.inf
        for text, (want, name) in zip(self.ends, sorted(last)):
            y = max(want, y + 16)
            text.set_y(min(y, LINEAR[0] + LINEAR[1] + 4))
            text.set_text(name)
        order = np.argsort([_first(m, 1e-8) for m in middle[:2]], kind="stable")    # the one that falls first has its name on the left
        for k, text, side in zip(order, self.falls, (-1, 1)):
            cut = _first(middle[k], 1e-8)
            before = min(int(np.ceil(cut)), len(self.x) - 1)
            x = np.interp(cut, np.arange(len(self.x)), self.x)
            gone = before < cut or cut >= len(self.x) - 1 and middle[k, -1] > 1e-8
            text.set_text(NAMES[k])
            text.set_ha("right" if side < 0 or gone else "left")
            text.set_position((self.x[-1] + 16, float(self.log(middle[k, -1])) + (26 if side < 0 else 46)) if gone
                              else (x + 14 * side, float(self.log(1e-8)) + -22 * side))

    def _say(self, start, runs, middle):
        gone = middle[:2].max(axis=0) < 1e-9
        layers = len(self.x) - 1
        self.title = (f"Without skips all tokens become one within {np.argmax(gone)} layers; an MLP does not prevent it" if gone.any()
                      else f"Without skips the tokens approach each other, but do not become one in {layers} layers")
        self.sentence = (f"After 3 layers: attention only {_value(middle[0, 3])}, with MLP {_value(middle[1, 3])}, with skip {_value(middle[2, 3])}, with both "
                         f"{_value(middle[3, 3])}; after {layers}, with skip: {_value(middle[2, -1])} and {_value(middle[3, -1])}.")
        self.footer.set_text(f"Start: {start}. Lines: medians of {runs.shape[1]} seeds, grey: their range. Solid: with skip, dotted: without. Squares: with MLP.")
        self.alt = (f"Four curves of token distance over {layers} layers, start: {start}. After 3 layers {_value(middle[0, 3])} with attention only, "
                    f"{_value(middle[1, 3])} with an MLP, {_value(middle[2, 3])} with a skip, {_value(middle[3, 3])} with both.")


def _first(curve, level):
    """The depth, not a whole number, at which a falling curve crosses `level`; its last depth if it never does, or begins below."""
    below = np.flatnonzero(curve < level)
    if not len(below) or below[0] == 0:
        return len(curve) - 1.0
    i = below[0]
    a, b = np.log10(curve[i - 1:i + 1])
    return i - 1 + (a - np.log10(level)) / (a - b)


def _value(value):
    """Two decimals, or one digit and a power of ten."""
    if value >= 0.01 or value == 0:
        return fh.num(value)
    digit, power = f"{value:.0e}".split("e")
    return f"{digit} · 10" + "".join("⁻" if c == "-" else "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(int(power)))


def default(layers=12, seeds=5, tokens=32, d=64):
    """The picture as published: random weights of variance 1/d, four heads, three ways to begin.

    NumPy in small pieces (heads, quarters of the hidden layer): larger products wake several threads, which on a
    busy machine take a hundred times longer.
    """
    starts = {"variance 1/width": (1, False), "queries 4 × larger": (4, False), "with LayerNorm": (1, True)}
    distance, clouds = np.zeros((len(starts), 4, seeds, layers + 1)), np.zeros((len(starts), 2, layers + 1, 12, 2))
    heads = lambda x: x.reshape(tokens, 4, d // 4).swapaxes(0, 1)
    for s, (scale, norm) in enumerate(starts.values()):
        normed = (lambda x: (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)) if norm else (lambda x: x)
        for seed, k in np.ndindex(seeds, 4):
            mlp, skip = k % 2, k // 2
            rng = np.random.default_rng(seed)
            x = rng.normal(size=(tokens, d))
            for layer in range(layers + 1):
                if layer:
                    Wq, Wk, Wv, Wo, *W = rng.normal(size=(12, d, d)) / d ** 0.5          # W: W1 and W2 in quarters
                    n = normed(x)
                    scores = scale * heads(n @ Wq) @ heads(n @ Wk).swapaxes(1, 2) / (d // 4) ** 0.5
                    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
                    mixed = weights / weights.sum(axis=2, keepdims=True) @ heads(n @ Wv)
                    x = skip * x + mixed.swapaxes(0, 1).reshape(tokens, d) @ Wo
                    if mlp:
                        x = skip * x + (np.maximum(normed(x) @ np.array(W[:4]), 0) @ np.array(W[4:])).sum(axis=0)
                away = x - x.mean(axis=0)
                distance[s, k, seed, layer] = np.linalg.norm(away) / np.linalg.norm(x)
                if seed == 0 and k in (0, 3):
                    clouds[s, k // 3, layer] = away[:12, :2] / np.sqrt((x ** 2).mean())
    return RankCollapse(distance=distance, clouds=clouds, names=tuple(starts))
