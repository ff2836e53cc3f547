"""One token through a wide FFN, widths to scale: the documents' second figure, 512 → 2048 → 512.

Read it from top to bottom. The hidden units stand sorted by z, so that what the activation takes
away is one piece; the close-up on the right keeps 16 of them in their own order and follows one.
"""
import numpy as np
import torch
from matplotlib.path import Path

import ffn_helpers as fh
import model_costs

NAMES = {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU", "identity": "no activation"}
SHIFT, CLOSE = 1.0, 16                              # reach of the bias shift, units in the close-up
LEFT, SLOT, LENS, LENS_WIDTH = 122, 630, 796, 184   # the widest layer fills SLOT pixels; the close-up
MIDDLE = LEFT + SLOT / 2
Y_X, Y_W1, Y_Z, Y_H, Y_W2, Y_Y = 120, 144, 210, 394, 538, 624
Y_COLUMN, Y_ROW = 160, 606                          # the close-up's strips: a column of W1, a row of W2
NOTES = LEFT + SLOT - 188                            # words beside the trapezoids
STRIP, BAND, WEIGHTS = 19, 140, 62                  # half height of a strip, heights of bands and trapezoids
COLUMNS, STEP = 96, 3                              # columns of a strip, pixels between points of a curve


class ExpandCutContract(fh.Picture):
    """x (d,), W1 (d, n), b1 (n,), W2 (n, d), b2 (d,); the first `d_ff` of the n hidden units take part.

    unit   the hidden unit to follow, 0 to d_ff - 1      shift  added to every bias of b1, within ±1
    """
    size = 1000, 704

    def check(self, x, W1, b1, W2, b2, d_ff=2048, unit=11, activation: str = "relu", shift=0.0):
        if activation not in NAMES:
            raise ValueError(f"activation {fh.brief(activation)} is not known here; known are {', '.join(NAMES)}")
        known = getattr(self, "values", {})

        def clean(name, value, *shape):
            """12 MB of weights are not read again while they stay the same object and still fit."""
            stays = name in known and value is known[name] and all(have == want or want == "n" for have, want in zip(value.shape, shape))
            return value if stays else fh.checked(name, value, shape).astype(np.float32)
        x = x if "x" in known and x is known["x"] else fh.checked("x", x, ("d_model",)).astype(np.float32)
        W1 = clean("W1", W1, len(x), "n")
        n = W1.shape[1]
        return dict(x=x, W1=W1, b1=clean("b1", b1, n), W2=clean("W2", W2, n, len(x)),
                    b2=clean("b2", b2, len(x)), d_ff=(d_ff := model_costs.whole("d_ff", d_ff, CLOSE, n)),
                    unit=model_costs.whole("unit", unit, 0, d_ff - 1), activation=activation,
                    shift=float(fh.checked("shift", shift, (), limit=SHIFT)))

    # ---- what stays
    def build(self):
        self.cache = None
        for label, y in [("x", Y_X), ("y", Y_Y)]:
            self.text(20, y - 8, label, 12, "bold")
        for label, y in [("z", Y_Z), ("h", Y_H)]:
            self.text(20, y + BAND / 2 - 20, label, 12, "bold")
        self.text(20, Y_Z + BAND / 2 + 18, "sorted by z")
        self.text(20, Y_H + BAND / 2 + 18, "same order")
        self.text(LENS, 84, f"{CLOSE} units, unsorted", colour=fh.WEIGHT)
        self.text(20, 686, f"Black in z: the close-up’s {CLOSE} units. Hatched: removed by the activation. "
                           "Weights, x and y are random: only their size matters.", colour=fh.WEIGHT)
        for y in (Y_W1 + 4, Y_W2 + WEIGHTS - 4):
            self.rectangle(NOTES, y - 5, 10, 10, fh.tint(fh.WEIGHT, 0.45))
        for y in (Y_Z, Y_H):
            self.rectangle(LENS, y, LENS_WIDTH, BAND, fh.tint(fh.HIDDEN, 0.13), fh.HIDDEN, 1.6)

        live = lambda x, y, size=10.5, weight="normal", **more: self.moves(self.text(x, y, "", size, weight, **more))
        patch = lambda *args, **more: self.moves(self.patch(fh.EMPTY, *args, **more))
        self.say = {"expand": live(20, Y_W1 + 18, 12, "bold"), "W1": live(20, Y_W1 + 38),
                    "cut": live(20, (Y_Z + BAND + Y_H) / 2 - 9, 12, "bold"), "name": live(20, (Y_Z + BAND + Y_H) / 2 + 10),
                    "contract": live(20, Y_W2 + 24, 12, "bold"), "W2": live(20, Y_W2 + 44),
                    "x": live(20, Y_X + 10), "y": live(20, Y_Y + 10),
                    "z": live(20, Y_Z + BAND / 2), "h": live(20, Y_H + BAND / 2),
                    "asks": live(LENS, 110, 11, "bold"), "column": live(LENS, 127),
                    "writes": live(LENS, Y_Y + 18, 11, "bold"), "row": live(LENS, Y_Y + 34),
                    "widths": live(NOTES, Y_X - 2), "held": live(NOTES, Y_Y),
                    "light W1": live(NOTES + 18, Y_W1 + 4), "light W2": live(NOTES + 18, Y_W2 + WEIGHTS - 4)}
        self.bands = patch(fh.tint(fh.HIDDEN, 0.13), fh.HIDDEN, 1.6)
        self.weights, self.wedges = patch(fh.WEIGHT), patch(fh.tint(fh.WEIGHT, 0.45))
        self.ghost = patch(fh.CUT, fh.WEIGHT, 0.9, hatch=fh.HATCH, zorder=1.5)
        self.up, self.down = patch(fh.POSITIVE, zorder=1.6), patch(fh.NEGATIVE, zorder=1.6)
        self.marks = patch(fh.INK, zorder=1.7)              # arrows, ticks, the kept bar, the picked unit
        self.zeros = patch("none", fh.INK, 1, zorder=1.8)
        self.dots = patch("none", fh.WEIGHT, 1, zorder=1.2, linestyle=(0, (2, 3)))
        self.picked = patch("none", fh.INK, 1.8, zorder=1.9)
        self.kept, self.cut = live(0, Y_Z + BAND + 14, 11, ha="right"), live(0, Y_Z + BAND + 14, 11)
        self.label = live(0, 0, 11, "bold", zorder=2)
        self.hidden = [live(0, y + 16, zorder=2) for y in (Y_Z, Y_H)]
        self.removed = live(0, 0, zorder=2)
        self.lens_z, self.lens_h = live(0, Y_Z - 16, 11), live(0, (Y_Z + BAND + Y_H) / 2, 11)

    def fixed(self):
        """What depends on the arrays alone, kept while they are the same objects: z without shift, and the scales."""
        arrays = [self.values[name] for name in ("x", "W1", "b1", "W2", "b2")]
        if self.cache is None or any(old is not new for old, new in zip(self.cache[0], arrays)):
            x, W1, b1, W2, b2 = arrays
            z = (_times(x, W1) + b1).astype(np.float64)
            reach = np.abs(z) + SHIFT
            self.cache = arrays, z, dict(x=_largest(x) or 1, W1=_largest(W1) or 1, z=reach.max(),       # a strip of zeros has no height
                                         row=(np.maximum(W2.max(1), -W2.min(1)) * reach).max() or 1)
        return self.cache[1:]

    # ---- what moves
    def update(self):
        v = self.values
        d, n, d_ff, unit, activation = len(v["x"]), len(v["b1"]), v["d_ff"], v["unit"], v["activation"]
        z, scale = self.fixed()
        z = z[:d_ff] + v["shift"]
        h = fh.activate(z, activation)
        y = _times(h, v["W2"][:d_ff]) + v["b2"]
        order = np.argsort(-z, kind="stable")
        ruler = SLOT / max(n, d)
        narrow, wide = d * ruler, d_ff * ruler
        left = MIDDLE - wide / 2
        place = np.empty(d_ff)
        place[order] = left + (np.arange(d_ff) + 0.5) * ruler       # where each unit stands in the sorted band
        at, start = place[unit], min(unit // CLOSE * CLOSE, d_ff - CLOSE)
        lens = np.arange(start, start + CLOSE)
        pitch = LENS_WIDTH / CLOSE
        bars, point = LENS + pitch * (np.arange(CLOSE) + 0.16), LENS + pitch * (unit - start + 0.5)

        self.bands.set_path(fh.rectangles(left, [Y_Z, Y_H], wide, BAND))
        self.weights.set_path(fh.joined([fh.trapezoid(MIDDLE, Y_W1, narrow, wide, WEIGHTS),
                                         fh.trapezoid(MIDDLE, Y_W2, wide, narrow, WEIGHTS)]))
        ends = (MIDDLE - narrow / 2, MIDDLE + narrow / 2)
        self.wedges.set_path(fh.joined([
            fh.closed([(ends[0], Y_W1), (ends[1], Y_W1), (at, Y_W1 + WEIGHTS)]),
            fh.closed([(at, Y_W2), (ends[1], Y_W2 + WEIGHTS), (ends[0], Y_W2 + WEIGHTS)]) if h[unit] else None]))

        # Curves of the bands, bars of the close-up and strips of x, y, column and row: two paths in all.
        middle_z, middle_h, height = Y_Z + BAND / 2, Y_H + BAND / 2, BAND / 2 - 4
        pick = np.unique(np.linspace(0, d_ff - 1, int(wide / STEP) + 2).round().astype(int))
        xs, zs, hs = place[order[pick]], z[order[pick]], h[order[pick]]
        unit_z = -height / scale["z"]
        row = h[unit] * v["W2"][unit]
        strips = [(ends[0], Y_X, narrow, v["x"], scale["x"]), (ends[0], Y_Y, narrow, y, _largest(y) or 1),
                  (LENS, Y_COLUMN, LENS_WIDTH, v["W1"][:, unit], scale["W1"]), (LENS, Y_ROW, LENS_WIDTH, row, scale["row"])]
        for sign, path in [(1, self.up), (-1, self.down)]:
            part = lambda values: np.maximum(values * sign, 0) * sign
            path.set_path(fh.joined(
                [_between(xs, middle_z, middle_z + part(zs) * unit_z), _between(xs, middle_h, middle_h + part(hs) * unit_z)]
                + [fh.rectangles(bars, middle, pitch * 0.68, part(values[lens]) * unit_z)
                   for middle, values in [(middle_z, z), (middle_h, h)]]
                + [_strip(x0, y0, width, part(values) * (-STRIP / most)) for x0, y0, width, values, most in strips]))
        self.ghost.set_path(fh.joined([
            _between(xs, middle_h + hs * unit_z, middle_h + zs * unit_z),
            fh.rectangles(bars, middle_h + h[lens] * unit_z, pitch * 0.68, (z - h)[lens] * unit_z)]))
        self.zeros.set_path(_segments(
            [(left, middle_z, left + wide), (left, middle_h, left + wide), (LENS, middle_z, LENS + LENS_WIDTH),
             (LENS, middle_h, LENS + LENS_WIDTH)] + [(x0, y0, x0 + width) for x0, y0, width, *_ in strips]))
        self.dots.set_path(_segments([(left + wide + 6, m, LENS - 6) for m in (middle_z, middle_h)]))
        self._marks(v, z, h, place, lens, at, point, middle_z, middle_h, unit_z, pitch, left, wide, ruler)
        self._inside(z[order], activation, middle_h, unit_z, at, left, wide, ruler)
        self._say(v, d, d_ff, unit, activation, z, h, y)

    def _marks(self, v, z, h, place, lens, at, point, middle_z, middle_h, unit_z, pitch, left, wide, ruler):
        """Where the 16 units and the picked one stand, how many are kept, and the arrows of the close-up."""
        kept = int((z > 0).sum()) if v["activation"] != "identity" else len(z)
        edge, y = left + (z > 0).sum() * ruler, Y_Z + BAND + 30
        tail = 5 * np.sign(unit_z * z[lens])
        dashes = np.arange(edge, left + wide - 3, 9) if kept < len(z) else []
        self.marks.set_path(fh.joined(
            [fh.rectangles(place[lens] - 0.75, middle_z - tail, 1.5, z[lens] * unit_z + tail),
             fh.rectangles(at - 0.9, [Y_Z, Y_H], 1.8, BAND),
             fh.rectangles(left, y - 1.5, kept * ruler, 4), fh.rectangles(dashes, y - 0.5, 5, 2)]
            + [fh.arrow_path((point, a), (point, b)) for a, b in
               [(Y_COLUMN + STRIP + 4, Y_Z - 4), (Y_Z + BAND + 5, Y_H - 5), (Y_H + BAND + 5, Y_ROW - STRIP - 6)]]))
        self.picked.set_path(fh.joined([fh.rectangles(
            point - pitch * 0.42, np.array([middle_z, middle_h]) - 3 * np.sign(unit_z * z[v["unit"]]), pitch * 0.84,
            np.array([z, z])[:, v["unit"]] * unit_z + 6 * np.sign(unit_z * z[v["unit"]]))]))
        outside, late = wide < 200, at > MIDDLE
        self.label.set(x=left + wide + 8 if outside else at - 6 if late else at + 6, ha="right" if late and not outside else "left",
                       y=middle_z + (20 if z[v["unit"]] > 0 else -20), text=f"unit {v['unit']:,}")
        boundary = np.clip(edge, LEFT + 100, LEFT + SLOT - 120)
        self.kept.set_x(boundary - 8), self.cut.set_x(boundary + 8)
        flip = point > LENS + LENS_WIDTH / 2
        for text, name, value in [(self.lens_z, "z", z), (self.lens_h, "h", h)]:
            text.set(x=point + (-10 if flip else 10), ha="right" if flip else "left", text=f"{name} = {fh.num(value[v['unit']])}")

    def _inside(self, z, activation, middle_h, unit_z, at, left, wide, ruler):
        """Names on the hidden layer and on what is removed from it: clear of the picked unit, beside a band too narrow for them."""
        right, outside, gone = left + wide, wide < 200, (z < 0).any() and activation != "identity"
        for text in self.hidden:
            text.set(text="hidden layer", x=right + 8 if outside else at - 8 if at > right - 100 else right - 8, ha="left" if outside else "right")
        start = left + (z >= 0).sum() * ruler
        middle = min((start + right) / 2, right - 42)
        if abs(middle - at) < 40:                       # to the roomier side of the line of the picked unit
            middle = at - 38 if at > right - 80 else at + 38
        deep = z[min(int((middle + 32 - left) / ruler), len(z) - 1)] * unit_z
        self.removed.set(text="removed" if gone else "", x=right + 8 if outside else middle, ha="left" if outside else "center",
                         y=middle_h + 20 if outside else min(middle_h + max(deep, 0) + 13, middle_h + BAND / 2 - 10))

    def _say(self, v, d, d_ff, unit, activation, z, h, y):
        first, last = (("Expand", "contract") if d_ff > d else ("Keep", "keep") if d_ff == d else ("Narrow", "widen"))
        cut, kept, name = int((z < 0).sum()), int((z >= 0).sum()), NAMES[activation]
        verb = {"relu": "cut", "identity": "pass"}.get(activation, "shrink")
        middle = {"cut": "cut the negatives", "pass": "cut nothing", "shrink": "shrink the negatives"}[verb]
        self.title = (f"{first} {d:,} numbers {'at' if d_ff == d else 'to'} {d_ff:,}, {middle}, {last} {'at' if d_ff == d else 'to'} {d:,}"
                      + (": a bottleneck" if d_ff < d else ": one linear map" if verb == "pass" else ""))
        moved = f"Bias shifted by {fh.num(v['shift'], 4)}: " if v["shift"] else ""
        low = h[z <= 0].min(initial=0)
        words = {"cut": f"{cut:,} of {d_ff:,} units are cut ({100 * cut / d_ff:.0f} %), the other {kept:,} pass unchanged.",
                 "pass": f"0 of {d_ff:,} units are cut: y is x times one {d:,} × {d:,} matrix, plus one offset.",
                 "shrink": f"{name} cuts no unit to exactly 0: {cut:,} of {d_ff:,} ({100 * cut / d_ff:.0f} %) shrink to between {fh.num(low)} and 0."}[verb]
        self.sentence = moved + words
        self.alt = (f"Bars to scale: {d:,} numbers, {d_ff:,} hidden units sorted by z, {d:,} numbers. {words} "
                    f"Close-up: unit {unit:,}, z = {fh.num(z[unit])}, h = {fh.num(h[unit])}.")
        self.kept.set_text(f"{kept:,} {'kept' if verb == 'cut' else 'positive'}")
        self.cut.set_text(f"{cut:,} " + {"cut": "cut to 0", "pass": "negative, kept", "shrink": "shrunk"}[verb])
        ratio = fh.num(d_ff / d)
        for key, text in {
                "expand": f"1  {first}", "W1": f"W1: {d:,} × {d_ff:,}", "cut": f"2  {verb.capitalize()}", "name": name,
                "contract": f"3  {last.capitalize()}", "W2": f"W2: {d_ff:,} × {d:,}", "x": f"{d:,} numbers within ±{fh.num(_largest(v['x']))}", "y": f"{d:,} numbers within ±{fh.num(_largest(y))}",
                "z": f"{d_ff:,} units", "h": f"{d_ff:,} units", "asks": f"Unit {unit:,} asks", "column": "with its column of W1",
                "writes": "and writes" if h[unit] else "and writes nothing", "row": "h times its row of W2" if h[unit] else "0 times its row of W2",
                "light W1": f"column {unit:,} of W1", "light W2": f"row {unit:,} of W2" + ("" if h[unit] else ", times 0"),
                "widths": f"to scale, 1 : {ratio} : {ratio} : 1",
                "held": f"{2 * d * d_ff + d_ff + d:,} parameters"}.items():
            self.say[key].set_text(text)


def _times(row, matrix):
    """row @ matrix by torch, which a notebook keeps to one thread: NumPy's second thread doubles the CPU time."""
    return (torch.from_numpy(row.astype(np.float32)) @ torch.from_numpy(matrix)).numpy()


def _largest(values):
    """The largest absolute value, without a copy of the weights."""
    return float(max(values.max(), -values.min()))


def _between(xs, a, b):
    """The area between two curves over xs, where they differ."""
    a, b = np.broadcast_arrays(a, b)
    apart = np.flatnonzero(np.abs(a - b) > 1e-9)
    if not len(apart):
        return fh.EMPTY
    part = slice(max(apart[0] - 1, 0), apart[-1] + 2)
    lower = np.column_stack([xs[part], a[part]])
    if np.ptp(lower[:, 1]) == 0:
        lower = lower[[0, -1]]                      # a straight base needs its two ends
    return fh.closed(np.vstack([lower, np.column_stack([xs[part], b[part]])[::-1]]))


def _strip(x, y, width, values):
    """A silhouette of many values around y: one column for each few, as tall as the tallest of them."""
    starts = np.unique(np.linspace(0, len(values), min(COLUMNS, len(values)), endpoint=False).astype(int))
    peaks = np.where(values.sum() < 0, np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts))
    if not peaks.any():
        return fh.EMPTY
    edges = x + width * np.arange(len(peaks) + 1) / len(peaks)
    steps = np.column_stack([np.repeat(edges, 2)[1:-1], y + np.repeat(peaks, 2)])
    return fh.closed(np.vstack([[x, y], steps, [x + width, y]]))


def _segments(lines):
    """Level lines (x from, y, x to) as one path; those that run backwards are left out."""
    points = [point for a, y, b in lines if b > a for point in ((a, y), (b, y))]
    return Path(points, [Path.MOVETO, Path.LINETO] * (len(points) // 2)) if points else fh.EMPTY


def default():
    """The picture as published: one random token, random weights scaled to keep variance, zero biases."""
    draw, d, n = torch.Generator().manual_seed(0), 512, 3072
    even = lambda *shape: torch.empty(*shape).uniform_(-3 ** 0.5, 3 ** 0.5, generator=draw)      # variance 1
    return ExpandCutContract(x=torch.randn(d, generator=draw), W1=even(d, n) / d ** 0.5, b1=torch.zeros(n),
                             W2=even(n, d) / n ** 0.5, b2=torch.zeros(d))
