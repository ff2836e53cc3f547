"""A gated FFN: two branches of one token, their product, the third matrix, and what three cost.

Upright like the picture of notebook 03: x on top, y at the bottom. The framed unit is the reader's:
its z and its value are set by hand, all others come from x. Beside it the unit's product as an area,
and the weights of two and of three matrices as blocks against one budget line.
"""
import numpy as np
import torch

import ffn_helpers as fh
import model_costs

NAMES = {"silu": ("SwiGLU", "SiLU"), "gelu": ("GEGLU", "GELU"), "relu": ("ReGLU", "ReLU"),
         "sigmoid": ("GLU", "sigmoid"), "identity": ("Bilinear", "no function")}
SCALE, UNIT, REACH = 64, 2, 2.0                       # one bar for 64 numbers; the framed unit; its z and value
PITCH, BAR = 6, 5
LEFT = 90                                             # right end of the words left of the strips
GATE, VALUE, H = 196, 440, 318                        # centre lines of the branches and of their product
Y_X, Y_W, Y_Z, Y_CURVE, Y_G, Y_H, Y_STOP, Y_W2, Y_Y = 106, 152, 220, 264, 374, 468, 530, 544, 616
HALF, HALF_H = 30, 44                                 # half the height of a strip; h has a scale of its own
CURVE_HEIGHT = 64
AREA = dict(x=690, y=106, width=200, height=200)      # gate across, value up, both from -2 to 2
BLOCKS, ROWS, BLOCK = (640, 980), (420, 490, 560), 28 # left and right end, upper edges, height


class GatedFFN(fh.Picture):
    """x (8,), W and V (8, 32), W2 (32, 8): a gated FFN at 1/64 of its width, and one unit set by hand.

    `gate` names the function of the gate branch; `z` and `value` (-2 to 2) are the framed unit's two
    inputs; `d_ff` (256 to 2,048) is the hidden width, drawn as d_ff / 64 units.
    """
    size = 1000, 684

    def check(self, x, W, V, W2, gate: str = "silu", z=2.0, value=-1.5, d_ff=1365):
        if gate not in NAMES:
            raise ValueError(f"gate {fh.brief(gate)} is not known; known are {', '.join(NAMES)}")
        arrays = dict(x=((8,), x), W=((8, 32), W), V=((8, 32), V), W2=((32, 8), W2))
        return dict({name: fh.checked(name, array, shape, limit=100) for name, (shape, array) in arrays.items()},
                    gate=gate, z=float(fh.checked("z", z, (), limit=REACH)),
                    value=float(fh.checked("value", value, (), limit=REACH)), d_ff=model_costs.whole("d_ff", d_ff, 256, 2048))

    # ---- what stays
    def build(self):
        for x, y, label in [(H - 40, Y_X, "x"), (LEFT, Y_Z - 10, "z"), (LEFT, Y_G - 10, "gate"), (H - 106, Y_H - 10, "h"), (H - 40, Y_Y, "y")]:
            self.text(x, y, label, 12, "bold", ha="right")
        self.text(VALUE + 106, Y_G - 10, "value", 12, "bold")
        self.text(H + 40, Y_X, "512 numbers, drawn as 8", colour=fh.WEIGHT)
        self.text(H + 40, Y_Y, "512 numbers, as x", colour=fh.WEIGHT)
        self.text(VALUE + 12, (Y_W + 32 + Y_G - HALF) / 2, "no activation", colour=fh.WEIGHT)
        self.text(H, Y_G, "×", 20, "bold", ha="center")
        for x in (GATE, VALUE):
            self.line([H, H, x], [Y_X + 26, Y_X + 34, Y_X + 34])
            self.line([x, x, H], [Y_G + HALF + 1, Y_G + HALF + 10, Y_G + HALF + 10])
        arrows = [((x, Y_X + 34), (x, Y_W)) for x in (GATE, VALUE)] + [
            ((GATE, Y_Z + HALF), (GATE, Y_CURVE)), ((GATE, Y_CURVE + CURVE_HEIGHT), (GATE, Y_G - HALF)),
            ((VALUE, Y_W + 32), (VALUE, Y_G - HALF)), ((H, Y_G + HALF + 10), (H, Y_H - HALF_H)),
            ((H, Y_H + HALF_H), (H, Y_W2)), ((H, Y_W2 + 32), (H, Y_Y - 22))]
        self.patch(fh.joined([fh.arrow_path(*ends, 9) for ends in arrows]), fh.INK)
        self.line([20, 610], [Y_STOP, Y_STOP], dashes=(6, 4))
        self.text(VALUE - 12, Y_W2 + 32, "back to 512 numbers", colour=fh.WEIGHT)

        self.patch(fh.rectangles(GATE - 96, Y_CURVE, 192, CURVE_HEIGHT), fh.ZERO, fh.SOFT, 1)
        self.line([GATE - 96, GATE + 96], [Y_CURVE + CURVE_HEIGHT / 2] * 2, fh.SOFT, 1)
        self.line([GATE, GATE], [Y_CURVE, Y_CURVE + CURVE_HEIGHT], fh.SOFT, 1)
        self._area()
        self._budget()
        self.text(20, 666, "Up is positive, down negative; h and y have scales of their own. Hatched: removed by the "
                           "gate’s function. Random weights.", colour=fh.WEIGHT)

        patch = lambda *args, **more: self.moves(self.patch(fh.EMPTY, *args, **more))
        self.weights, self.last = patch(fh.WEIGHT), patch(fh.WEIGHT, fh.INK, 3)
        self.strips = patch(fh.tint(fh.HIDDEN, 0.13), fh.HIDDEN)
        self.removed = patch(fh.CUT, fh.WEIGHT, 0, hatch=fh.HATCH, zorder=1.5)
        self.bars = {name: fh.Bars(self, np.zeros(0), BAR, base, -1, zorder=2) for name, base in
                     [("x", Y_X), ("z", Y_Z), ("gate", Y_G), ("value", Y_G), ("h", Y_H), ("y", Y_Y)]}
        self.zeros, self.framed = patch("none", fh.INK, 1, zorder=3), patch("none", fh.INK, 2, zorder=4)
        self.curve = self.moves(self.line([], [], width=2.2))
        self.others = patch(fh.HIDDEN, fh.INK, 0.6, zorder=3)
        self.mine = patch(fh.HIDDEN, fh.INK, 1.6, zorder=4)
        live = lambda x, y, size=10.5, **more: self.moves(self.text(x, y, "", size, **more))
        self.readings = [live(LEFT, Y_Z + 10, ha="right"), live(LEFT, Y_G + 10, ha="right"), live(VALUE + 106, Y_G + 10), live(H - 106, Y_H + 10, ha="right")]
        self.function = live(LEFT, Y_CURVE + CURVE_HEIGHT / 2, 11, ha="right")
        self.stops, self.short, self.whole = (live(VALUE - 12, Y_STOP - 34, colour=fh.WEIGHT), live(VALUE - 12, Y_STOP - 15),
                                              live(VALUE - 12, Y_W2 + 6, 11, weight="bold"))
        for y, word in [(Y_W + 16, "W"), (Y_W + 16, "V"), (Y_W2 + 16, "W2")]:
            self.moves(self.text(VALUE if word == "V" else GATE if word == "W" else H, y, word, 11, "bold", fh.ZERO, "center", zorder=3))

    def _area(self):
        """The framed unit alone: gate across, value up, h the area between them."""
        x, y, side = AREA["x"], AREA["y"], AREA["width"]
        axes = self.axis(**AREA, xlim=(-1.05 * REACH, 1.05 * REACH), ylim=(-1.05 * REACH, 1.05 * REACH))
        axes.set_xticks([-2, 0, 2], ["−2", "0", "2"]), axes.set_yticks([-2, 0, 2], ["−2", "0", "2"])
        axes.axhline(0, color=fh.SOFT, linewidth=1), axes.axvline(0, color=fh.SOFT, linewidth=1)
        self.text(BLOCKS[0], y - 18, "The framed unit: h is an area", 12, "bold")
        self.text(x + side * 0.75, y + side + 16, "gate", 11, ha="center")
        self.text(x - 12, y + side * 0.25, "value", 11, ha="right")
        for row, words in enumerate(["filled:", "gate × value", "dashed:", "z × value"]):
            self.text(x + side + 10, y + side - 82 + 19 * row, words, colour=fh.WEIGHT)
        self.plus = self.moves(self.patch(fh.EMPTY, fh.tint(fh.POSITIVE, 0.75), fh.INK, 0.8, axes=axes))
        self.minus = self.moves(self.patch(fh.EMPTY, fh.tint(fh.NEGATIVE, 0.75), fh.INK, 0.8, axes=axes))
        self.plain = self.moves(self.patch(fh.EMPTY, "none", fh.INK, 1.2, axes=axes, linestyle=(0, (4, 3)), zorder=3))
        self.product = self.moves(self.text(x + side + 10, y + 10, "", 11, "bold"))

    def _budget(self):
        """Two matrices, three at the same d_ff, three at the chosen d_ff: lengths to scale."""
        left, right = BLOCKS
        self.per = (right - left) / (3 * SCALE * 32)          # pixels for one of d_ff
        line = left + 2 * SCALE * 32 * self.per
        usual = 2 * 512 * SCALE * 32
        self.text(left, ROWS[0] - 44, "Weights at d_model = 512", 12, "bold")
        self.text(left, ROWS[0] - 14, f"Usual FFN, d_ff 2,048: {usual:,}", 11)
        self.text(left, ROWS[1] - 14, f"Gated, d_ff 2,048: {usual * 3 // 2:,}, × {1.5:.2f}", 11)
        self.chosen = self.moves(self.text(left, ROWS[2] - 14, "", 11, "bold"))
        for row, names in zip(ROWS[:2], (("W1", "W2"), ("W", "V", "W2"))):
            self._blocks(row, SCALE * 32, names)
        self.blocks = self.moves(self.patch(fh.EMPTY, fh.WEIGHT))
        self.third = self.moves(self.patch(fh.EMPTY, fh.WEIGHT, fh.INK, 2.4))
        self.block_names = [self.moves(self.text(0, ROWS[2] + BLOCK / 2, name, 10.5, "bold", fh.ZERO, "center", zorder=3))
                            for name in ("W", "V", "W2")]
        dotted = [self.line([line, line], [row - 4, row + BLOCK + 4], dashes=(2, 1.5), zorder=4) for row in ROWS]
        self.moves(dotted[2])                                 # it stands still, but over blocks that move
        self.text(line, ROWS[2] + BLOCK + 18, "dotted: the usual budget", ha="center")
        self.text(left, ROWS[2] + BLOCK + 40, "Third matrix at equal d_ff: + 1/2, not + 2/3.", colour=fh.WEIGHT)

    def _blocks(self, y, d_ff, names):
        left, width = BLOCKS[0], d_ff * self.per
        for i, name in enumerate(names):
            self.patch(fh.rectangles(left + i * width + 1, y, width - 2, BLOCK), fh.WEIGHT)
            self.text(left + (i + 0.5) * width, y + BLOCK / 2, name, 10.5, "bold", fh.ZERO, "center")

    # ---- what moves
    def update(self):
        v = self.values
        units = round(v["d_ff"] / SCALE)
        z, value, gate, h, reach = _forward(v)
        z, value, gate, h = (array[:units] for array in (z, value, gate, h))
        y = h @ v["W2"][:units]
        self._draw_strips(units, z, gate, reach["z"])
        wide = HALF / reach["z"]
        for name, centre, lengths in [("x", H, v["x"] * 20 / reach["x"]), ("z", GATE, z * wide), ("gate", GATE, gate * wide),
                                      ("value", VALUE, value * wide), ("h", H, h * HALF_H / reach["h"]), ("y", H, y * 20 / reach["y"])]:
            self.bars[name].x = _places(centre, len(lengths))
            self.bars[name].set(lengths)
        for text, number in zip(self.readings, (z[UNIT], gate[UNIT], value[UNIT], h[UNIT])):
            text.set_text(fh.num(number))
        self._draw_area(z[UNIT], gate[UNIT], value[UNIT], h[UNIT])
        self._draw_curve(z, gate, reach["z"])
        self._say(gate[UNIT], value[UNIT], h[UNIT])

    def _draw_strips(self, units, z, gate, reach):
        edge = units * PITCH / 2 + 2
        box = lambda x, y, half: fh.rectangles(x - edge, y - half, 2 * edge, 2 * half)
        places = [(GATE, Y_Z, HALF), (GATE, Y_G, HALF), (VALUE, Y_G, HALF), (H, Y_H, HALF_H)]
        self.strips.set_path(fh.joined([box(*place) for place in places]))
        self.zeros.set_path(fh.joined([fh.rectangles(x - edge, y - 0.2, 2 * edge, 0.4) for x, y, _ in places]
                                      + [fh.rectangles(H - 26, y - 0.2, 52, 0.4) for y in (Y_X, Y_Y)]))
        self.framed.set_path(fh.joined([fh.rectangles(_places(x, units)[UNIT] - 2, y - half, BAR + 4, 2 * half) for x, y, half in places]))
        self.weights.set_path(fh.joined([fh.trapezoid(x, Y_W, 8 * PITCH, units * PITCH, 32) for x in (GATE, VALUE)]))
        self.last.set_path(fh.trapezoid(H, Y_W2, units * PITCH, 8 * PITCH, 32))
        cut = (z - gate) * (self.values["gate"] not in ("sigmoid", "identity"))
        self.removed.set_path(fh.rectangles(_places(GATE, units), Y_G - gate * HALF / reach, BAR, -cut * HALF / reach))

    def _draw_curve(self, z, gate, reach):
        """The gate's function from z (across) to the gate (up); squares are the other units."""
        place = lambda z, gate: (GATE + 96 * z / reach, Y_CURVE + CURVE_HEIGHT / 2 * (1 - gate / reach))
        curve = np.linspace(-reach, reach, 61)
        self.curve.set_data(*place(curve, fh.activate(curve, self.values["gate"])))
        x, y = place(np.delete(z, UNIT), np.delete(gate, UNIT))
        self.others.set_path(fh.rectangles(x - 2, y - 2, 4, 4))
        self.mine.set_path(fh.circle(*place(z[UNIT], gate[UNIT]), 5.5))

    def _draw_area(self, z, gate, value, h):
        shape = fh.rectangles(0, 0, gate, value)
        self.plus.set_path(shape if h > 0 else fh.EMPTY)
        self.minus.set_path(shape if h < 0 else fh.EMPTY)
        self.plain.set_path(fh.rectangles(0, 0, z, value))
        self.product.set_text(f"h = {fh.num(h)}")

    def _say(self, gate, value, h):
        v = self.values
        layer, function = NAMES[v["gate"]]
        weights, usual = 3 * 512 * v["d_ff"], 2 * 512 * SCALE * 32
        left, width = BLOCKS[0], v["d_ff"] * self.per
        self.chosen.set_text(f"Gated, d_ff {v['d_ff']:,}: {weights:,}, × {weights / usual:.2f}")
        self.blocks.set_path(fh.rectangles(left + width * np.arange(2) + 1, ROWS[2], width - 2, BLOCK))
        self.third.set_path(fh.rectangles(left + 2 * width + 1, ROWS[2], width - 2, BLOCK))
        for i, text in enumerate(self.block_names):
            text.set_position((left + (i + 0.5) * width, ROWS[2] + BLOCK / 2))
            text.set_text(("W", "V", "W2")[i] if width > 30 else "")
        inner = "xW × xV" if v["gate"] == "identity" else f"{function}(xW) × xV"
        self.function.set_text(function if v["gate"] != "identity" else "as it is")
        self.stops.set_text("the document stops at h:" if v["gate"] == "silu" else "without W2 it stops at h:")
        self.short.set_text(inner)
        self.whole.set_text(f"({inner}) W2")
        does = ("is shut" if fh.num(gate) == fh.num(h) == "0" else "flips its value’s sign" if gate < 0 else
                "passes its value unchanged" if fh.num(gate) == "1" else
                "lets almost nothing through" if fh.num(gate) == "0" else
                f"lets {fh.num(gate)} of its value through" if gate < 1 else f"amplifies its value {fh.num(gate)} times")
        self.title = f"{layer} multiplies two branches: this gate {does}"
        self.sentence = (f"Framed unit: {fh.num(gate)} × {_signed(value)} = {fh.num(h)}. Three matrices at d_ff {v['d_ff']:,} "
                         f"hold {weights:,} weights, {weights / usual:.2f} times the usual two.")
        self.alt = (f"{layer}: gate branch and value branch, their product h, then W2. The framed unit’s gate {fh.num(gate)} times "
                    f"value {fh.num(value, 4)} is {fh.num(h)}. Three matrices at d_ff {v['d_ff']:,}: {weights / usual:.2f} times the usual weights.")


def _forward(v):
    """z, value, gate and h of all 32 units, and the longest bar of each strip over all states of the controls."""
    z, value = v["x"] @ v["W"], v["x"] @ v["V"]
    z[UNIT], value[UNIT] = v["z"], v["value"]
    h_of = {name: fh.activate(z, name) * value for name in NAMES}
    sums = np.zeros((len(NAMES), 32, 8))                      # y after 1, 2, ... 32 units, the framed one left out
    for row, h in zip(sums, h_of.values()):
        row[:] = np.cumsum(np.where(np.arange(32) == UNIT, 0, h)[:, None] * v["W2"], axis=0)
    others = max(np.abs(np.delete(h, UNIT)).max() for h in h_of.values())
    reach = {"x": max(np.abs(v["x"]).max(), 0.1), "h": max(others, REACH ** 2),
             "z": max(np.abs(np.delete(z, UNIT)).max(), np.abs(np.delete(value, UNIT)).max(), REACH),
             "y": max((np.abs(sums) + REACH ** 2 * np.abs(v["W2"][UNIT])).max(), 0.1)}
    return z, value, fh.activate(z, v["gate"]), h_of[v["gate"]], reach


def _places(centre, count):
    """Left edges of `count` bars around a centre line."""
    return centre + PITCH * (np.arange(count) - count / 2) + (PITCH - BAR) / 2


def _signed(value):
    return fh.num(value, 4) if value >= 0 else f"({fh.num(value, 4)})"


def default():
    """The picture as published: a random network."""
    draw = torch.Generator().manual_seed(10)
    even = lambda *shape: 2 * torch.rand(*shape, generator=draw, dtype=torch.float64) - 1
    return GatedFFN(x=1.7 * even(8), W=1.1 * even(8, 32), V=1.1 * even(8, 32), W2=even(32, 8))
