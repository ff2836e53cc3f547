"""One token through a small FFN with every number visible: the documents' worked example.

Falk's scheme: each number stands where its row meets its column. Units are numbered badges; the
same badge names a column of W1, a row of W2 and a fold line in the plane of (x1, x2).
"""
import numpy as np
from matplotlib.path import Path

import ffn_helpers as fh

DOCUMENT = dict(x=[1, 2], W1=[[1, 0, -1], [2, 1, 0]], b1=[0, 0, 1], W2=[[1], [-1], [2]], b2=[0.5])
MENDED = {**DOCUMENT, "W2": [[1, 0], [-1, 1], [2, 1]], "b2": [0.5, 0]}     # as wide as x: claim C017

NAMES = {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU", "sigmoid": "sigmoid", "tanh": "tanh", "identity": "identity"}
CELL, ROW, CAP, REACH = 58, 38, 5, 5                # cell size, strips are full at 5, the plane shows -5 to 5
UNITS, OUT = 214, 478                               # left edges of the unit columns and of the output columns
Y_W1, Y_XW1, Y_B1, Y_Z, Y_H = 112, 206, 252, 298, 390
Y_W2, Y_B2, Y_Y = Y_H - 3 * ROW - 16, Y_H + 46, Y_H + 92
PLANE = dict(x=644, y=112, width=336, height=336)
SHADES = [fh.ZERO, fh.tint(fh.INK, 0.12), fh.tint(fh.INK, 0.26), fh.tint(fh.INK, 0.42)]


class HandWorked(fh.Picture):
    """x (2,), W1 (2, 3), b1 (3,), W2 (3, 1 or 2), b2 (1 or 2,) and an activation, all numbers within ±9."""
    size = 1000, 560

    def check(self, x, W1, b1, W2, b2, activation: str = "relu"):
        fh.activate(0.0, activation)
        W2 = fh.checked("W2", W2, (3, "1 or 2"), limit=9)
        if W2.shape[1] not in (1, 2):
            raise ValueError(f"W2 has shape {W2.shape}, expected (3, 1) or (3, 2)")
        if hasattr(self, "y") and W2.shape != self.values["W2"].shape:
            raise ValueError(f"W2 has shape {W2.shape}, expected {self.values['W2'].shape} as this picture was made for")
        return dict(x=fh.checked("x", x, (2,), limit=9), W1=fh.checked("W1", W1, (2, 3), limit=9),
                    b1=fh.checked("b1", b1, (3,), limit=9), W2=W2,
                    b2=fh.checked("b2", b2, (W2.shape[1],), limit=9), activation=activation)

    # ---- what stays
    def build(self):
        out = self.values["W2"].shape[1]
        cells = lambda x, y, rows, columns, **more: _Cells(self, x, y, rows, columns, CELL, ROW, CAP, **more)
        self.x, self.W1 = cells(24, Y_XW1, 1, 2, weight="bold"), cells(UNITS, Y_W1, 2, 3)
        self.xW1, self.b1 = cells(UNITS, Y_XW1, 1, 3), cells(UNITS, Y_B1, 1, 3)
        self.z, self.h = cells(UNITS, Y_Z, 1, 3, weight="bold"), cells(UNITS, Y_H, 1, 3, weight="bold")
        self.W2, self.hW2 = cells(OUT, Y_W2, 3, out), cells(OUT, Y_H, 1, out)
        self.b2, self.y = cells(OUT, Y_B2, 1, out), cells(OUT, Y_Y, 1, out, weight="bold", line=3)

        for label, x, y, weight in [
                ("W1", UNITS, Y_W1 + ROW, "bold"), ("x W1", UNITS, Y_XW1 + ROW / 2, "normal"),
                ("+ b1", UNITS, Y_B1 + ROW / 2, "normal"), ("= z", UNITS, Y_Z + ROW / 2, "bold"),
                ("h", UNITS, Y_H + ROW / 2, "bold"), ("h W2", OUT, Y_H + ROW / 2, "normal"),
                ("+ b2", OUT, Y_B2 + ROW / 2, "normal"), ("= y", OUT, Y_Y + ROW / 2, "bold")]:
            self.text(x - 10, y, label, 12 if weight == "bold" else 11, weight, ha="right")
        self.text(24, Y_XW1 - 16, "x", 12, "bold")
        self.text(OUT, Y_W2 - 16, "W2", 12, "bold")
        self.text(24, Y_W1 + 8, "1  Expand", 12, "bold")
        self.text(OUT - 34, Y_W2 - 46, "3  Contract", 12, "bold")
        self.step2 = self.moves(self.text(24, (Y_Z + Y_H + ROW) / 2, "", 12, "bold"))

        for unit in range(3):
            self._badge(unit, UNITS + CELL * (unit + 0.5), Y_W1 - 18)
            self._badge(unit, OUT - 22, Y_W2 + ROW * (unit + 0.5))
        self.text(UNITS - 10, Y_W1 - 18, "unit", ha="right")
        self.text(24, Y_Y + ROW / 2 - 22, "Unit 1 by hand:", 11)
        self.by_hand = self.moves(self.text(24, Y_Y + ROW / 2, "", 11))

        self.flow = self.moves(self.patch(fh.EMPTY, fh.INK))
        self._glyph()
        self._plane()
        self.text(20, 540, f"Strips: on top positive, at the bottom negative, full at {CAP}. "
                           "Hatched: cut by the activation. Thick frame: the result.", colour=fh.WEIGHT)

    def _badge(self, unit, x, y):
        self.patch(fh.circle(x, y, 12), fh.HIDDEN, fh.INK, 1)
        self.text(x, y, str(unit + 1), 11, "bold", ha="center")

    def _glyph(self):
        """The activation as a small curve: where the three z fall on it."""
        x, y, width, height = OUT, 108, 130, 84
        self.curve_z = np.linspace(-6, 6, 49)
        self.to_glyph = lambda z, a: (x + width * (np.clip(z, -6, 6) + 6) / 12,
                                      y + height * (6 - np.clip(a, -2, 6)) / 8)
        left, zero = self.to_glyph(0, 0)
        self.rectangle(x, y, left - x, height, fh.CUT, fh.WEIGHT, 0, hatch=fh.HATCH)
        self.line([x, x + width], [zero, zero], fh.SOFT, 1)
        self.curve = self.moves(self.line([], [], width=2.4))
        self.points = [self.moves(self.patch(fh.EMPTY, fh.HIDDEN, fh.INK, 1, zorder=3)) for _ in range(3)]
        self.glyph_name = self.moves(self.text(x, y - 14, "", 11))

    def _plane(self):
        """The plane of inputs: each unit folds it along one line and cuts the fringed side."""
        axes = self.axis(**PLANE, xlim=(-REACH, REACH), ylim=(-REACH, REACH))
        axes.set_xticks([-REACH, 0, REACH], [fh.num(-REACH), "0", str(REACH)])
        axes.set_yticks([-REACH, 0, REACH], [fh.num(-REACH), "0", str(REACH)])
        self.text(PLANE["x"] + PLANE["width"] * 0.75, PLANE["y"] + PLANE["height"] + 16, "x₁", ha="center")
        self.text(PLANE["x"] - 12, PLANE["y"] + PLANE["height"] * 0.25, "x₂", ha="right")
        self.plane_name = self.moves(self.text(PLANE["x"], PLANE["y"] - 18, "", 11))
        patch = lambda *args, **more: self.moves(self.patch(fh.EMPTY, *args, axes=axes, **more))
        self.regions = [patch(shade, zorder=0.5) for shade in SHADES]
        self.fringes = patch("none", fh.WEIGHT, 1, zorder=0.7)
        self.folds = patch("none", fh.HIDDEN, 4, zorder=1), patch("none", fh.INK, 1, zorder=1.1)
        self.fold_badges = [(self.moves(self.patch(fh.EMPTY, fh.HIDDEN, fh.INK, 1, zorder=4)),
                             self.moves(self.text(0, 0, str(unit + 1), 11, "bold", ha="center", zorder=5)))
                            for unit in range(3)]
        self.residual = self.moves(self.patch(fh.EMPTY, fh.INK, zorder=5))
        self.residual_name = self.moves(self.text(0, 0, "x + y", 12, "bold", ha="center", zorder=6))
        self.point = self.moves(self.patch(fh.EMPTY, fh.INK, fh.ZERO, 1.5, zorder=6))
        self.point_name = self.moves(self.text(0, 0, "x", 12, "bold", ha="center", zorder=6))

    # ---- what moves
    def update(self):
        v = self.values
        x, W1, b1, W2, b2, activation = (v[k] for k in ("x", "W1", "b1", "W2", "b2", "activation"))
        z = x @ W1 + b1
        h = fh.activate(z, activation)
        y, plain = h @ W2 + b2, z @ W2 + b2
        cut = (z < 0) & (activation == "relu")
        for cells, values in [(self.x, x), (self.W1, W1), (self.xW1, x @ W1), (self.b1, b1), (self.z, z),
                              (self.W2, W2), (self.hW2, h @ W2), (self.b2, b2), (self.y, y)]:
            cells.set(values)
        self.h.set(h, cut)
        self._draw_flow(cut)
        self._draw_glyph(z, h, activation)
        self._draw_plane(x, W1, b1, y)
        self.by_hand.set_text(f"{_product(x[0], W1[0, 0])} + {_product(x[1], W1[1, 0])} "
                              f"+ {_signed(b1[0])} = {fh.num(z[0])}")
        self._say(x, z, y, plain, cut, activation)

    def _say(self, x, z, y, plain, cut, activation):
        name, given = NAMES[activation], f"x = {fh.vec(x, 4)} gives {fh.vec(y)}"
        same = np.allclose(y, plain, atol=5e-3)
        if activation == "identity":
            self.title = f"{given}: no activation, so this is one linear step"
            first = "Nothing is cut."
        elif activation == "relu":
            self.title = (f"{given}: the ReLU has nothing to cut" if not cut.any() else
                          f"{given}: nothing passes the ReLU, only b2 is left" if (z <= 0).all() else
                          f"{given}: the ReLU cuts {_units(cut)}")
            first = f"{cut.sum()} of 3 units {'is' if cut.sum() == 1 else 'are'} cut."
        else:
            self.title = f"{given}: {name} bends every unit a little"
            first = f"{(z < 0).sum()} of 3 z {'is' if (z < 0).sum() == 1 else 'are'} negative."
        without = "" if activation == "identity" else (
            f" Without the {name} y would {'also be' if same else 'be'} {fh.vec(plain)}.")
        fits = (f" y has 2 numbers like x: x + y = {fh.vec(x + y)}." if len(y) == 2 else
                " y has 1 number, x has 2: x + y does not fit.")
        self.sentence = first + without + fits
        self.alt = (f"One token by hand: x = {fh.vec(x, 4)}, z = {fh.vec(z)}, y = {fh.vec(y)}. {first}{without} "
                    "Beside it the folded input plane.")

    def _draw_flow(self, cut):
        arrows = []
        for unit in range(3):
            x, top, bottom = UNITS + CELL * (unit + 0.5), Y_Z + ROW + 7, Y_H - 7
            if cut[unit]:
                arrows += [fh.arrow_path((x, top), (x, bottom - 12), 0, 2), fh.arrow_path((x - 9, bottom - 12), (x + 9, bottom - 12), 0, 3)]
            else:
                arrows.append(fh.arrow_path((x, top), (x, bottom)))
        arrows.append(fh.arrow_path((UNITS + 3 * CELL + 8, Y_H + ROW / 2), (OUT - 56, Y_H + ROW / 2)))
        self.flow.set_path(fh.joined(arrows))
        self.step2.set_text("2  " + ("Cut" if self.values["activation"] == "relu" else NAMES[self.values["activation"]]))

    def _draw_glyph(self, z, h, activation):
        self.curve.set_data(*self.to_glyph(self.curve_z, fh.activate(self.curve_z, activation)))
        self.glyph_name.set_text(f"{NAMES[activation]}: z to h")
        for point, at in zip(self.points, zip(*self.to_glyph(z, h))):
            point.set_path(fh.circle(*at, 5.5))

    def _draw_plane(self, x, W1, b1, y):
        square = np.array([(-REACH, -REACH), (REACH, -REACH), (REACH, REACH), (-REACH, REACH)], float)
        shades = [[] for _ in SHADES]
        for pattern in np.ndindex(2, 2, 2):
            region = square
            for unit, on in enumerate(pattern):
                region = _clip(region, W1[:, unit] * (1 if on else -1), b1[unit] * (1 if on else -1))
            if len(region) > 2:
                shades[3 - sum(pattern)].append(fh.closed(region))
        for patch, paths in zip(self.regions, shades):
            patch.set_path(fh.joined(paths))
        lines = [_fold(W1[:, unit], b1[unit]) for unit in range(3)]
        drawn = [Path(line) for line in lines if line is not None]
        for patch in self.folds:
            patch.set_path(fh.joined(drawn))
        self.fringes.set_path(fh.joined([_fringe(line, W1[:, unit]) for unit, line in enumerate(lines) if line is not None]))
        taken = [_page(x)]
        for unit, (badge, label) in enumerate(self.fold_badges):
            shown = lines[unit] is not None
            badge.set_visible(shown), label.set_visible(shown)
            if shown:
                at = _free_place(lines[unit], taken)
                taken.append(at)
                badge.set_path(fh.circle(*at, 12))
                label.set_position(at)
        count = sum(line is not None for line in lines)
        self.plane_name.set_text("No fold line crosses the plane" if not count else
                                 "Each unit cuts the fringed side of its line" if self.values["activation"] == "relu"
                                 else "On each line one z is 0; fringed: below 0")
        at, low, high = _page(x), _page((-REACH, REACH)), _page((REACH, -REACH))
        here = np.clip(at, low, high)
        self.point.set_path(fh.circle(*here, 6.5))
        self.point_name.set_text("x" if np.array_equal(at, here) else "x is outside")
        end = np.clip(_page(x + y), low, high) if len(y) == 2 else here
        room = here[0] > low[0] + 110 and end[0] >= here[0]      # to the left of the point; else below it on the right
        self.point_name.set_ha("right" if room else "left")
        self.point_name.set_position((here[0] + (-12 if room else 12), np.clip(here[1] + (0 if room else 18), low[1] + 12, high[1] - 12)))
        self.residual.set_path(fh.arrow_path(here, end, 11, 2.6))
        length = np.hypot(*(end - here))
        self.residual_name.set_visible(bool(length > 40))
        if length > 40:                    # beside the arrow's middle, away from the folds where there is room
            middle, beside = (here + end) / 2, (end - here)[::-1] * (-1, 1) / length
            beside *= np.sign(beside @ (middle - (low + high) / 2)) or 1
            beside *= 24 * abs(beside[0]) + 8 * abs(beside[1]) + 9
            fits = (low + (24, 8) < middle + beside).all() and (middle + beside < high - (24, 8)).all()
            self.residual_name.set_position(middle + beside if fits else middle - beside)


class _Cells:
    """A matrix as signed cells with their numbers.

    Tint and strip repeat the number: strip on top and orange for positive, at the bottom and blue
    for negative, its length |value| / cap of the cell. `set(values, cut=mask)` hatches cut cells.
    """
    def __init__(self, picture, x, y, rows, columns, width, height, cap, weight="normal", line=1.2):
        self.cap, self.width, self.height, self.shown = cap, width, height, None
        self.x = x + width * np.tile(np.arange(columns), rows)
        self.y = y + height * np.repeat(np.arange(rows), columns)
        self.tints = [picture.moves(picture.rectangle(cx, cy, width, height)) for cx, cy in zip(self.x, self.y)]
        self.cut = picture.moves(picture.patch(fh.EMPTY, fh.CUT, fh.WEIGHT, 0, hatch=fh.HATCH, zorder=1.1))
        self.up = picture.moves(picture.patch(fh.EMPTY, fh.POSITIVE, zorder=1.2))
        self.down = picture.moves(picture.patch(fh.EMPTY, fh.NEGATIVE, zorder=1.2))
        self.plates = picture.moves(picture.patch(fh.EMPTY, fh.ZERO, zorder=1.2))
        self.frames = picture.moves(picture.patch(
            fh.rectangles(self.x, self.y, width, height), edge=fh.INK, width=line, zorder=1.3))
        self.numbers = [picture.moves(picture.text(cx + width / 2, cy + height / 2, "", 11.5, weight, ha="center"))
                        for cx, cy in zip(self.x, self.y)]

    def set(self, values, cut=None):
        values = np.ravel(values)
        cut = np.zeros(len(values), bool) if cut is None else np.ravel(cut)
        if (old := self.shown) and np.array_equal(values, old[0]) and np.array_equal(cut, old[1]):
            return                             # most changes touch few of the matrices
        self.shown = values.copy(), cut.copy()
        for value, tint_, number_ in zip(values, self.tints, self.numbers):
            tint_.set_facecolor(_tint(value, self.cap))
            number_.set_text(fh.num(value))
        strip = np.minimum(np.abs(values) / self.cap, 1) * self.width * ~cut
        self.up.set_path(fh.rectangles(self.x, self.y, strip * (values > 0), 6))
        self.down.set_path(fh.rectangles(self.x, self.y + self.height - 6, strip * (values < 0), 6))
        self.cut.set_path(fh.rectangles(self.x, self.y, self.width * cut, self.height))
        self.plates.set_path(fh.rectangles(self.x + self.width / 2 - 9, self.y + self.height / 2 - 10, 18 * cut, 20))


def _tint(value, cap):
    """White at 0, up to 0.35 of its sign's colour at |value| = cap."""
    return fh.tint(fh.POSITIVE if value > 0 else fh.NEGATIVE, 0.35 * min(abs(value) / cap, 1))


def _units(cut):
    names = [str(i + 1) for i in np.flatnonzero(cut)]
    return f"unit {names[0]}" if len(names) == 1 else f"units {', '.join(names[:-1])} and {names[-1]}"


def _signed(value):
    return fh.num(value) if value >= 0 else f"({fh.num(value)})"


def _product(a, b):
    return f"{_signed(a)} · {_signed(b)}"


def _page(point):
    """Plane coordinates to page pixels."""
    return np.array([PLANE["x"] + PLANE["width"] * (point[0] + REACH) / (2 * REACH),
                     PLANE["y"] + PLANE["height"] * (REACH - point[1]) / (2 * REACH)])


TINY = 1e-12           # weights so small fold nothing: their line divides by what rounds to 0


def _clip(polygon, normal, offset):
    """The part of a convex polygon where point . normal + offset >= 0 (Sutherland and Hodgman)."""
    if len(polygon) == 0:
        return polygon
    side = polygon @ normal + offset
    if np.abs(normal).max() < TINY:
        return polygon if offset >= 0 and not np.signbit(offset) else polygon[:0]
    kept = []
    for i in range(len(polygon)):
        a, b, sa, sb = polygon[i - 1], polygon[i], side[i - 1], side[i]
        if (sa >= 0) != (sb >= 0):
            kept.append(a + (b - a) * sa / (sa - sb))
        if sb >= 0:
            kept.append(b)
    return np.array(kept)


def _fold(normal, offset):
    """The two ends of the line point . normal + offset = 0 inside the square, or None."""
    if np.abs(normal).max() < TINY:
        return None
    along, foot = np.array([-normal[1], normal[0]]), -offset * normal / (normal @ normal)
    low, high = -np.inf, np.inf
    for axis in range(2):
        if along[axis] == 0:
            if abs(foot[axis]) > REACH:
                return None
        else:
            ends = sorted(((-REACH - foot[axis]) / along[axis], (REACH - foot[axis]) / along[axis]))
            low, high = max(low, ends[0]), min(high, ends[1])
    return np.array([foot + low * along, foot + high * along]) if low < high else None


def _fringe(line, normal):
    """Short ticks on the cut side of a fold line."""
    length = np.hypot(*(line[1] - line[0]))
    along = (line[1] - line[0]) / length
    starts = line[0] + along * np.arange(0.2, length, 0.33)[:, None]
    ends = starts - normal / np.hypot(*normal) * 0.27
    keep = np.abs(ends).max(axis=1, initial=0) <= REACH
    points = np.stack([starts[keep], ends[keep]], 1).reshape(-1, 2)
    return Path(points, [Path.MOVETO, Path.LINETO] * (len(points) // 2)) if len(points) else None


def _free_place(line, taken):
    """A place on the line for its badge, near an end and away from what is there already."""
    places = [_page(line[0] + (line[1] - line[0]) * t) for t in (0.93, 0.07, 0.86, 0.14, 0.78, 0.22, 0.68, 0.32, 0.5)]
    room = lambda at: min((np.hypot(*(at - other)) for other in taken), default=99)
    inside = [at for at in places if all(4 < at - (PLANE["x"], PLANE["y"])) and all(at - (PLANE["x"], PLANE["y"]) < PLANE["width"] - 4)] or places
    return next((at for at in inside if room(at) > 34), max(inside, key=room))


def default():
    """The picture as published: the documents' own numbers."""
    return HandWorked(**DOCUMENT)
