"""The plane cut by the fold lines of ReLU units: one affine map in each region.

Darker means more units on. The region of the current point is outlined; its pattern stands beside it.
"""
from functools import lru_cache

import numpy as np
import torch
from matplotlib.path import Path

import ffn_helpers as fh

REACH, PLANE = 3, (52, 84, 380)                            # the window is -3 to 3; left, top, side in pixels
UNITS = dict(x=494, step=28, width=22, zero=256, unit=26, cap=4)       # z as bars, 26 pixels to 1, full at 4


class Regions(fh.Picture):
    """W1 (2, d_ff), b1 (d_ff,) with d_ff from 1 to 16; spread multiplies b1; point (2,) within 3."""
    size = 960, 520

    def check(self, W1, b1, point, spread=1):
        W1 = fh.checked("W1", W1, (2, "1 to 16"), 10)
        if not 1 <= W1.shape[1] <= 16 or (np.abs(W1) < 1e-6).all(axis=0).any():       # no line to draw
            raise ValueError(f"W1 has shape {W1.shape}, expected (2, 1 to 16) and no column of zeros, or within 0.000001 of them")
        return dict(W1=W1, b1=fh.checked("b1", b1, (W1.shape[1],), 10), point=fh.checked("point", point, (2,), REACH),
                    spread=float(fh.checked("spread", spread, (), 2)))

    # ---- what stays
    def build(self):
        count = self.values["W1"].shape[1]
        x, y, side = PLANE
        self.shades = [fh.tint(fh.INK, 0.02 + 0.78 * on / count) for on in range(count + 1)]
        self.regions = [self.moves(self.patch(fh.EMPTY, shade)) for shade in self.shades]
        self.folds = self.moves(self.patch(fh.EMPTY, edge=fh.ZERO, width=1.1))
        self.mine = [self.moves(self.patch(fh.EMPTY, edge=edge, width=width, joinstyle="round", zorder=1.2))
                     for edge, width in ((fh.HIDDEN, 5), (fh.INK, 1.4))]
        self.dot = self.moves(self.patch(fh.EMPTY, fh.INK, fh.ZERO, 1.6, zorder=1.3))
        self.moves(self.rectangle(x, y, side, side, edge=fh.INK, line=1, zorder=1.1))
        for value in (-REACH, 0, REACH):
            at = side * (value + REACH) / (2 * REACH)
            self.text(x + at, y + side + 14, fh.num(value), ha="center")
            self.text(x - 8, y + side - at, fh.num(value), ha="right")
        self.text(x + side * 0.75, y + side + 14, "x1", ha="center")
        self.text(x - 8, y + side * 0.25, "x2", ha="right")

        u, self.left = UNITS, UNITS["x"] + UNITS["step"] * np.arange(count)
        self.here = self.moves(self.text(u["x"], 96, size=12, weight="bold"))
        self.text(u["x"], 122, f"z = x W1 + b1 of the {count} units at the point (bars are full at {u['cap']})")
        self.line([u["x"] - 6, self.left[-1] + u["width"] + 6], [u["zero"]] * 2, fh.INK, 1)
        self.z = fh.Bars(self, self.left, u["width"], u["zero"], -u["unit"])
        self.on = self.moves(self.patch(fh.EMPTY, fh.HIDDEN, fh.INK, 1.2))
        self.off = self.moves(self.patch(fh.EMPTY, fh.CUT, fh.WEIGHT, 0, hatch=fh.HATCH))
        self.patch(fh.rectangles(self.left, 400, u["width"], 24), edge=fh.INK, width=1)
        for unit, at in enumerate(self.left):
            self.text(at + u["width"] / 2, 438, str(unit + 1), ha="center")
        self.text(u["x"], 386, "plain: on (z > 0), hatched: off")
        self.text(20, 502, "Shade: how many units are on, more is darker. Each white line is where one unit’s z is 0. "
                           "Outlined: the point’s region.", colour=fh.WEIGHT)

    # ---- what moves
    def update(self):
        v, u = self.values, UNITS
        W1, b1, point = v["W1"], v["b1"] * v["spread"], v["point"]
        count = W1.shape[1]
        z = point @ W1 + b1
        on, pieces = z > 0, _regions(W1.tobytes(), b1.tobytes())
        most = 1 + count + count * (count - 1) // 2
        layers = [[] for _ in self.regions]
        for corners, pattern in pieces:
            layers[sum(pattern)].append(corners)
        for patch, shapes in zip(self.regions, layers):
            patch.set_path(_polygons(shapes))
        self.folds.set_path(_polygons([corners for corners, _ in pieces]))
        mine = [corners for corners, pattern in pieces if pattern == tuple(on.tolist())]
        for patch in self.mine:
            patch.set_path(_polygons(mine))
        self.dot.set_path(fh.circle(*_page(point[None])[0], 6))
        self.z.set(np.clip(z, -u["cap"], u["cap"]))
        self.on.set_path(fh.rectangles(self.left, 400, u["width"] * on, 24))
        self.off.set_path(fh.rectangles(self.left, 400, u["width"] * ~on, 24))
        self.here.set_text(f"At [{fh.num(point[0])}, {fh.num(point[1])}] {on.sum()} of {count} units are on")
        same = "all lines meet at 0" if v["spread"] == 0 else f"{count} lines can make at most {most}"
        self.title = f"{count} ReLU units cut this window into {len(pieces)} regions, one affine map in each"
        self.sentence = f"{on.sum()} of {count} units are on at the point. {len(pieces)} regions in the window; {same}."
        self.alt = (f"A square of the plane cut by {count} lines into {len(pieces)} regions, shaded by how many units are on. "
                    f"At the marked point {on.sum()} of {count} are on, shown as bars beside it.")


@lru_cache(maxsize=64)
def _regions(W1, b1):
    """[(corners, pattern)]: the window split by every unit's line; plain floats, since the shapes are small."""
    b1 = np.frombuffer(b1).tolist()
    W1 = np.frombuffer(W1).reshape(2, -1).T.tolist()
    r = float(REACH)
    pieces = [([(-r, -r), (r, -r), (r, r), (-r, r)], ())]
    for (wx, wy), b in zip(W1, b1):
        halves = []
        for corners, pattern in pieces:
            z = [wx * x + wy * y + b for x, y in corners]
            if max(z) > 1e-9:
                halves.append((corners if min(z) >= -1e-9 else _clip(corners, z), pattern + (True,)))
            if min(z) < -1e-9:
                halves.append((corners if max(z) <= 1e-9 else _clip(corners, [-s for s in z]), pattern + (False,)))
        pieces = halves
    return pieces


def _clip(corners, z):
    """The part of a convex polygon where z >= 0, z being given at its corners."""
    kept = []
    for (ax, ay), sa, (bx, by), sb in zip(corners[-1:] + corners, z[-1:] + z, corners, z):
        if (sa > 0) != (sb > 0):
            t = sa / (sa - sb)
            kept.append((ax + (bx - ax) * t, ay + (by - ay) * t))
        if sb > 0:
            kept.append((bx, by))
    return kept


def _page(points):
    x, y, side = PLANE
    return np.asarray(points) * (side / (2 * REACH), -side / (2 * REACH)) + (x + side / 2, y + side / 2)


def _polygons(shapes):
    """Many closed polygons as one path."""
    if not shapes:
        return fh.EMPTY
    points = _page([corner for corners in shapes for corner in corners + corners[:1]])
    codes = [code for corners in shapes for code in [Path.MOVETO] + [Path.LINETO] * (len(corners) - 1) + [Path.CLOSEPOLY]]
    return Path(points, codes)


def default():
    """Sixteen units with weights from a seeded generator."""
    generator = torch.Generator().manual_seed(167)
    W1, b1 = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((2, 16), (16,)))
    return Regions(W1=W1, b1=b1, point=[1, 0.5])
