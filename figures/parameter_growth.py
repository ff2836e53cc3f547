"""Weights of one layer against the length of the text: one shared FFN, or a private one for each position."""
import numpy as np

import ffn_helpers as fh

PLOT, STEPS = dict(x=112, y=116, width=568, height=212), (1, 2, 2.5, 5, 10)


class ParameterGrowth(fh.Picture):
    """parameters: weights and biases of one FFN; length: positions in the longest text, 2 to 4096."""
    size = 900, 396

    def check(self, parameters, length=512):
        parameters, length = (float(fh.checked(name, value, (), limit=1e12)) for name, value in
                              (("parameters", parameters), ("length", length)))
        if parameters < 1 or not 2 <= length <= 4096 or length != int(length):
            raise ValueError(f"expected parameters of at least 1 and a whole length from 2 to 4096, got {parameters:g} and {length:g}")
        return dict(parameters=parameters, length=int(length))

    def build(self):
        self.axes = self.axis(**PLOT, xlim=(0, 1), ylim=(0, 1))
        self.axes.set_xticks([]), self.axes.set_yticks([])
        left, bottom = PLOT["x"], PLOT["y"] + PLOT["height"]
        self.line([left, left + PLOT["width"]], [bottom, PLOT["y"]], fh.WEIGHT, 2.4, dashes=(5, 2.5))
        self.flat = self.moves(self.line([], [], fh.INK, 3.4))
        self.ticks = [self.moves(self.text(left + PLOT["width"] * t, bottom + 16, "", ha="center")) for t in (0, 0.5, 1)]
        self.levels = [self.moves(self.text(left - 10, bottom, "", ha="right")) for _ in range(6)]
        self.marks = self.moves(self.patch(fh.EMPTY, fh.INK))
        self.text(left + PLOT["width"] / 2, bottom + 40, "positions in the text, seq_len", 11, ha="center")
        self.text(left, PLOT["y"] - 18, "weights in one layer", 11)
        beside = left + PLOT["width"] + 16
        self.text(beside, PLOT["y"] + 6, "one for each position", 11, "bold")
        self.private = self.moves(self.text(beside, PLOT["y"] + 28, "", 11))
        self.shared_name = self.moves(self.text(beside, bottom, "one shared FFN", 11, "bold"))
        self.shared = self.moves(self.text(beside, bottom, "", 11))

    def update(self):
        one, length = self.values["parameters"], self.values["length"]
        level = PLOT["y"] + PLOT["height"] * (1 - 1 / length)
        self.shared_name.set_y(level - 34), self.shared.set_y(level - 12)
        self.flat.set_data([PLOT["x"], PLOT["x"] + PLOT["width"]], [level, level])
        for text, position in zip(self.ticks, (0, length / 2, length)):
            text.set_text(fh.num(position) if position == int(position) else "")
        step = _round_step(one * length)
        heights = [step * i for i in range(len(self.levels)) if step * i <= one * length]
        ys = [PLOT["y"] + PLOT["height"] * (1 - height / (one * length)) for height in heights]
        for text, height, y in zip(self.levels, heights + [None] * 6, ys + [0] * 6):
            text.set_text("" if height is None else _words(height))
            text.set_position((PLOT["x"] - 10, y))
        self.marks.set_path(fh.rectangles(PLOT["x"] - 5, np.array(ys) - 0.5, 5, 1))
        self.private.set_text(fh.num(one * length, 0))
        self.shared.set_text(fh.num(one, 0))
        self.title = "One shared FFN stays the same size, however long the text"
        self.sentence = (f"At {fh.num(length)} positions one shared FFN holds {fh.num(one, 0)} weights; "
                         f"private ones would hold {fh.num(one * length, 0)}.")
        self.alt = f"Two lines against sequence length: shared, flat at {fh.num(one, 0)}; private, rising to {fh.num(one * length, 0)} at {fh.num(length)} positions."


def _round_step(top):
    """The smallest round step that fits at most five times into `top`."""
    power = 10.0 ** np.floor(np.log10(top / 5))
    return next(step * power for step in STEPS if top / (step * power) < 6)


def _words(value):
    """A round number of weights as one would say it."""
    for unit, name in ((1e9, " billion"), (1e6, " million")):
        if value >= unit:
            return fh.num(value / unit) + name
    return fh.num(value)


def default():
    """The picture as published: the layer of the original Transformer, 512 → 2,048 → 512."""
    return ParameterGrowth(parameters=2 * 512 * 2048 + 2048 + 512)
