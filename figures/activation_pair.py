"""Two activations as what they are, z times a share: the share, the output, the slope and the gap.

The path goes 1 to 4. At the cursor panel 1 carries two gauges, dark for what is kept and hatched for
what is removed; times z that is panel 2. The two columns have the same z axis twice.
"""
from functools import lru_cache

import numpy as np
import torch
from matplotlib.path import Path

import ffn_helpers as fh

REACH, EVERY = 4, 80                               # z from -4 to 4; every 80th point of the grid is drawn
GRID = np.arange(-4000, 4001) / 1000               # step 1e-3: the extremes need it
LEFT, RIGHT, WIDE, TOP, BOTTOM = 84, 580, 400, 132, 448
UNIT = WIDE / (2 * REACH)                          # pixels for 1, along z and along the output
SHARE = dict(x=LEFT, y=TOP, height=240, low=-0.02, high=1.04)
OUTPUT = dict(x=RIGHT, y=TOP, height=240, low=-0.8, high=4)
SLOPE = dict(x=LEFT, y=BOTTOM, height=136, low=-0.22, high=1.26)
GAP = dict(x=RIGHT, y=BOTTOM, height=136, low=-0.06, high=0.31)
TALLER, DEEPEST, DIP = 6, -0.33, (-4, -0.3)        # the inset: how much taller, its lowest output, its z
INSET = dict(x=RIGHT, y=148, height=(0.06 - DEEPEST) * TALLER * UNIT, low=DEEPEST, high=0.06)
GAUGE = 8                                          # width of a gauge


class ActivationPair(fh.Picture):
    """shares {name: function}, z (a number within ±4) and pair, two of the names.

    A share function takes a float64 tensor and gives what is kept of each entry, 0 to 1; the activation is
    z times it. The first of `shares` is the grey reference. The pair is taken in the order of `shares`.
    """
    size = 1000, 656

    def check(self, shares: dict, pair: fh.SEVERAL, z=-1.0):
        if len(shares) < 2 or not all(map(callable, shares.values())):
            raise TypeError(f"shares must be a dict of 2 or more functions by name, got {', '.join(map(str, shares)) or 'none'}")
        for name, share in shares.items():
            try:
                kept = fh.checked(f"share of {name}", _curves(share)["share"], GRID.shape)
            except Exception as error:             # whatever a function of the reader's own raises
                raise TypeError(f"shares: {name} must take a float64 tensor and give one of its shape, got {type(error).__name__}: {error}") from None
            if kept.min() < 0 or kept.max() > 1 or (GRID * kept).min() < DEEPEST:
                raise ValueError(f"share of {name} must be 0 to 1 and z times it at least {fh.num(DEEPEST)}, "
                                 f"found {fh.num(kept.min())} to {fh.num(kept.max())} and {fh.num((GRID * kept).min())}")
        if len(pair) != 2 or not all(isinstance(name, str) for name in pair) or len(set(pair) & set(shares)) != 2:
            raise ValueError(f"pair must be two of {', '.join(shares)}, got {fh.brief(pair)}")
        return dict(shares=shares, pair=tuple(name for name in shares if name in pair),
                    z=float(fh.checked("z", z, (), limit=REACH)))

    # ---- what stays
    def build(self):
        self._axes(SHARE, [(0, "0"), (0.5, "50 %"), (1, "100 %")])
        self._axes(OUTPUT, [(0, "0"), (2, "2"), (4, "4")])
        self._axes(SLOPE, [(0, "0"), (1, "1")], bottom=True)
        self._axes(GAP, [(0, "0"), (0.1, "0.1"), (0.2, "0.2"), (0.3, "0.3")], bottom=True)
        reference = _curves(next(iter(self.values["shares"].values())))
        self.patch(fh.joined([_line(box, reference[kind]) for box, kind in
                              [(SHARE, "share"), (OUTPUT, "output"), (SLOPE, "slope")]]), edge=fh.SOFT, width=1.8, zorder=1)
        frame = fh.rectangles(INSET["x"] + 1, INSET["y"], UNIT * (DIP[1] - DIP[0]), INSET["height"])
        self.patch(frame, fh.ZERO, fh.SOFT, 1, zorder=1.2)
        self.patch(_line(INSET, reference["output"], DIP), edge=fh.SOFT, width=1.8, zorder=1.3)
        for y, words in [(10, "the dip,"), (28, f"{TALLER} × taller")]:
            self.text(_x(INSET, DIP[1]) + 8, INSET["y"] + y, words, colour=fh.WEIGHT)
        for box, words in [(SHARE, "1  Share of z that is kept"), (OUTPUT, "2  Output: z × share"),
                           (SLOPE, "3  Slope"), (GAP, "4  Gap")]:
            self.text(box["x"] - 4, box["y"] - 40, words, 12, "bold")
        self.patch(fh.arrow_path((502, TOP + 120), (540, TOP + 120), 11, 2.2), fh.INK)
        self.text(520, TOP + 104, "× z", 12, "bold", ha="center")
        for x in (LEFT, RIGHT):
            self.text(x + WIDE / 2, 617, "z, before the activation", 11, ha="center")
        self.text(20, 642, "Dark: kept. Hatched: removed. ◇ marks an extreme.", colour=fh.WEIGHT)

        patch = lambda *args, **more: self.moves(self.patch(fh.EMPTY, *args, **more))
        self.between_up = patch(fh.tint(fh.POSITIVE, 0.4), zorder=1.5)
        self.between_down = patch(fh.tint(fh.NEGATIVE, 0.4), zorder=1.5)
        self.gap_up, self.gap_down = patch(fh.POSITIVE, zorder=1.5), patch(fh.NEGATIVE, zorder=1.5)
        self.cursor = patch("none", fh.WEIGHT, 1.2, zorder=1.6)
        self.removed = patch(fh.CUT, fh.WEIGHT, 0.8, hatch=fh.HATCH, zorder=1.7)
        self.kept = patch(fh.INK, fh.INK, 0.8, zorder=1.8)
        self.second = patch("none", fh.INK, 2.4, zorder=2, linestyle=(0, (3.2, 1.6)))
        self.first = patch("none", fh.INK, 2.8, zorder=2.1)
        self.tangents = patch("none", fh.INK, 1.4, zorder=2.2)
        self.extremes = patch(fh.ZERO, fh.INK, 1.2, zorder=2.4)
        self.dots = patch(fh.INK, fh.ZERO, 1.2, zorder=3)
        self.rings = patch("none", fh.INK, 2, zorder=3.1)
        self.plates = patch(fh.ZERO, zorder=3.2)
        self.names = [self.moves(self.text(0, 0, "", 11, weight, ha=ha, colour=colour, zorder=3.3)) for weight, ha, colour in
                      [("bold", "right", fh.INK), ("bold", "left", fh.INK), ("bold", "left", fh.INK)]]
        self.readings = [self.moves(self.text(box["x"] - 4, box["y"] - 19, "", 11)) for box in (SHARE, OUTPUT, SLOPE, GAP)]
        self.records = [self.moves(self.text(box["x"] + WIDE, box["y"] - 40, "", colour=fh.WEIGHT, ha="right"))
                        for box in (OUTPUT, SLOPE, GAP)]

    def _axes(self, box, ticks, bottom=False):
        axes = self.axis(box["x"], box["y"], WIDE, box["height"], (-REACH, REACH), (box["low"], box["high"]))
        axes.set_yticks(*zip(*ticks))
        axes.set_xticks([-4, -2, 0, 2, 4], ["−4", "−2", "0", "2", "4"] if bottom else [""] * 5)
        self.line([box["x"], box["x"] + WIDE], [_y(box, 0)] * 2, fh.SOFT, 1)

    # ---- what moves
    def update(self):
        shares, pair, z = (self.values[key] for key in ("shares", "pair", "z"))
        a, b = (_curves(shares[name]) for name in pair)
        here = [_at(shares[name], np.array([z])) for name in pair]
        gap, panels = a["output"] - b["output"], [(SHARE, "share"), (OUTPUT, "output"), (SLOPE, "slope")]
        for patch, curves in [(self.first, a), (self.second, b)]:
            patch.set_path(fh.joined([_line(box, curves[kind]) for box, kind in panels]
                                     + [_line(INSET, curves["output"], DIP)]))
        top = np.maximum(a["output"], b["output"])
        for patch, floor in [(self.between_up, b["output"]), (self.between_down, a["output"])]:
            patch.set_path(fh.joined([_area(OUTPUT, top, floor), _area(INSET, top, floor, DIP)]))
        self.gap_up.set_path(_area(GAP, gap.clip(0), 0 * gap))
        self.gap_down.set_path(_area(GAP, 0 * gap, gap.clip(max=0)))
        self._draw_cursor(z, here)
        widest = int(np.abs(gap).argmax())
        lowest, steepest = ([int(c[kind].argmin() if kind == "output" else c[kind].argmax()) for c in (a, b)]
                            for kind in ("output", "slope"))
        marks = [(GAP, i, gap[i]) for i in {widest, len(GRID) - 1 - widest} if abs(gap[i]) > 0.999 * abs(gap[widest])]
        marks += [(INSET, i, c["output"][i]) for i, c in zip(lowest, (a, b)) if c["output"][i] < 0]
        marks += [(SLOPE, i, c["slope"][i]) for i, c in zip(steepest, (a, b)) if c["slope"][i] > 1]
        self.extremes.set_path(fh.joined([_diamond(_x(box, GRID[i]), _y(box, v)) for box, i, v in marks]))
        self._draw_names(pair, a, b)
        self._say(pair, z, here, gap, widest, [c["output"].min() for c in (a, b)], [c["slope"].max() for c in (a, b)])

    def _draw_cursor(self, z, here):
        inside = DIP[0] <= z <= DIP[1]
        tops = [(OUTPUT, INSET["y"] if inside else _y(OUTPUT, max(z, 0))), (SLOPE, SLOPE["y"]), (GAP, GAP["y"])]
        self.cursor.set_path(fh.joined([Path([(_x(box, z), top), (_x(box, z), box["y"] + box["height"])]) for box, top in tops]))
        x, foot = _x(SHARE, z), _y(SHARE, 0)
        gauges = [(x - GAUGE - 1, foot - _y(SHARE, h["share"][0])) for h in here[:1]] + \
                 [(x + 1, foot - _y(SHARE, h["share"][0])) for h in here[1:]]
        full = foot - _y(SHARE, 1)
        self.kept.set_path(fh.joined([fh.rectangles(at, foot - kept, GAUGE, kept) for at, kept in gauges]))
        self.removed.set_path(fh.joined([fh.rectangles(at, foot - full, GAUGE, full - kept) for at, kept in gauges]))
        points = [[(SHARE, h["share"][0]), (OUTPUT, h["output"][0]), (SLOPE, h["slope"][0])]
                  + [(INSET, h["output"][0])] * inside for h in here]
        self.dots.set_path(fh.joined([fh.circle(_x(box, z), _y(box, v), 5.5) for box, v in points[0]]))
        self.rings.set_path(fh.joined([fh.circle(_x(box, z), _y(box, v), 7.5) for box, v in points[1]]))
        self.tangents.set_path(fh.joined([_tangent(box, reach, z, h["output"][0], h["slope"][0]) for h in here
                                          for box, reach in [(OUTPUT, (-REACH, REACH))] + [(INSET, DIP)] * inside]))

    def _draw_names(self, pair, a, b):
        """Each name beside its curve in panel 1, where the curve passes a certain share; the reference at the edge."""
        reference = next(iter(self.values["shares"]))
        above = lambda curves, level: GRID[int((curves["share"] >= level).argmax())]
        spots = [("" if reference in pair else pair[0], _x(SHARE, above(a, 0.85)) - 12, _y(SHARE, 0.88)),
                 (pair[1], _x(SHARE, above(b, 0.68)) + 14, _y(SHARE, 0.66)), (reference, _x(SHARE, REACH) + 12, _y(SHARE, 1))]
        self.names[2].set_fontweight("bold" if reference in pair else "normal")
        self.names[2].set_color(fh.INK if reference in pair else fh.WEIGHT)
        plates = []
        for text, (name, x, y) in zip(self.names, spots):
            text.set_text(name)
            text.set_position((x, y))
            wide = 8.2 * len(name)
            plates.append(fh.rectangles(x if text.get_ha() == "left" else x - wide, y - 9, wide, 18))
        self.plates.set_path(fh.joined(plates))

    def _say(self, pair, z, here, gap, widest, lowest, steepest):
        first, second = pair
        kept, output, slope = ([h[kind][0] for h in here] for kind in ("share", "output", "slope"))
        marked = lambda values, write: f"● {first} {write(values[0])}    ○ {second} {write(values[1])}"
        apart, at = _three(abs(gap[widest])), _three(abs(GRID[widest]))
        at = f"±{at}" if np.allclose(gap, gap[::-1], atol=1e-9) else _three(GRID[widest])
        here_apart = _three(abs(output[0] - output[1]))
        for text, words in zip(self.readings, [marked(kept, _percent), marked(output, _three), marked(slope, _three), f"here {here_apart}"]):
            text.set_text(words)
        for text, words in zip(self.records, [f"◇ lowest {_three(lowest[0])}, {_three(lowest[1])}",
                                              f"◇ steepest {_three(steepest[0])}, {_three(steepest[1])}", f"◇ widest {apart} at {at}"]):
            text.set_text(words)
        reference = next(iter(self.values["shares"]))
        nearer = np.abs(_curves(self.values["shares"][reference])["output"] - _curves(self.values["shares"][first])["output"]).max()
        self.title = (f"{first} and {second} nearly coincide: at most {apart} apart" if abs(gap[widest]) < 0.05 else
                      f"{second} rounds the corner of {first}: up to {apart} apart" if first == reference else
                      f"{first}’s largest gap: {_three(nearer)} to {reference}, {apart} to {second}"
                      if nearer < abs(gap[widest]) else f"{first} and {second} are up to {apart} apart")
        self.sentence = (f"At z = {fh.num(z, 4)}, {first} keeps {_percent(kept[0])} of z and {second} {_percent(kept[1])}: "
                         f"{_three(output[0])} and {_three(output[1])} come out, {here_apart} apart.")
        self.alt = (f"Share kept, output, slope and gap of {first} and {second} against z. Largest gap {apart} at z = {at}. "
                    f"At z = {fh.num(z, 4)} they keep {_percent(kept[0])} and {_percent(kept[1])}.")


def _at(share, z):
    """Share kept, output and slope (by autograd) at every entry of z."""
    z = torch.tensor(z, dtype=torch.float64, requires_grad=True)
    kept = share(z)
    output = z * kept
    slope, = torch.autograd.grad(output.sum(), z)
    return {"share": kept.detach().double().numpy(), "output": output.detach().numpy(), "slope": slope.numpy()}


@lru_cache(maxsize=16)
def _curves(share):
    return _at(share, GRID)


def _three(value):
    """Three decimals, always, with a true minus and never minus zero."""
    return f"{abs(value):.3f}" if abs(value) < 5e-4 else f"{value:.3f}".replace("-", "−")


def _percent(share):
    """Whole percents; what is not all or nothing is not rounded to it."""
    return "<1 %" if 0 < share < 0.005 else ">99 %" if 0.995 < share < 1 else f"{fh.num(100 * share, 0)} %"


def _x(box, z):
    return box["x"] + UNIT * (z + REACH)


def _y(box, value):
    return box["y"] + box["height"] * (box["high"] - value) / (box["high"] - box["low"])


def _drawn(values, within):
    """Grid points that are drawn: every 80th, both sides of a jump, and the ends."""
    jumps = np.flatnonzero(np.abs(np.diff(values)) > 0.1)
    at = np.unique(np.concatenate([np.arange(0, len(GRID), EVERY), jumps, jumps + 1,
                                   np.searchsorted(GRID, np.array(within) - 1e-9)]))
    return at[(GRID[at] >= within[0] - 1e-9) & (GRID[at] <= within[1] + 1e-9)], jumps + 1


def _line(box, values, within=(-REACH, REACH)):
    at, starts = _drawn(values, within)
    codes = np.full(len(at), Path.LINETO, np.uint8)
    codes[np.isin(at, starts)] = Path.MOVETO
    codes[0] = Path.MOVETO
    return Path(np.c_[_x(box, GRID[at]), _y(box, values[at])], codes)


def _area(box, top, floor, within=(-REACH, REACH)):
    if not (top - floor > 1e-6).any():
        return fh.EMPTY
    at = _drawn(top, within)[0]
    x = _x(box, GRID[at])
    return fh.closed(np.vstack([np.c_[x, _y(box, top[at])], np.c_[x, _y(box, floor[at])][::-1]]))


def _tangent(box, reach, z, value, slope):
    """A piece of the tangent, 0.9 long either way, cut at the edges of its panel."""
    step = np.clip(z + 0.9 / np.hypot(1, slope) * np.array([-1, 1]), *reach) - z
    return Path(np.c_[_x(box, z + step), _y(box, value + slope * step)])


def _diamond(x, y):
    return fh.closed([(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)])


def default():
    """GELU and SiLU at z = -1, with ReLU as the reference and GELU's form with 1.702 at hand."""
    normal = lambda z: 0.5 * (1 + torch.erf(z / 2 ** 0.5))
    shares = {"ReLU": lambda z: (z > 0).double(), "GELU": normal, "z σ(1.702 z)": lambda z: torch.sigmoid(1.702 * z),
              "SiLU": torch.sigmoid}
    return ActivationPair(shares=shares, pair=("GELU", "SiLU"), z=-1)
