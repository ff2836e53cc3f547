"""Weights of one layer against the length of the text: one shared FFN, or a private one for each position."""
import ffn_helpers as fh

PLOT = dict(x=100, y=116, width=580, height=212)


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
        self.levels = [self.moves(self.text(left - 10, bottom - PLOT["height"] * t, "", ha="right")) for t in (0, 0.5, 1)]
        self.text(left + PLOT["width"] / 2, bottom + 40, "positions in the text, seq_len", 11, ha="center")
        self.text(left, PLOT["y"] - 18, "weights in one layer, millions", 11)
        for y, name in [(PLOT["y"] + 6, "one for each position"), (bottom - 34, "one shared FFN")]:
            self.text(left + PLOT["width"] + 16, y, name, 11, "bold")
        self.private = self.moves(self.text(left + PLOT["width"] + 16, PLOT["y"] + 28, "", 11))
        self.shared = self.moves(self.text(left + PLOT["width"] + 16, bottom - 12, "", 11))

    def update(self):
        one, length = self.values["parameters"], self.values["length"]
        level = PLOT["y"] + PLOT["height"] * (1 - 1 / length)
        self.flat.set_data([PLOT["x"], PLOT["x"] + PLOT["width"]], [level, level])
        for text, share in zip(self.ticks, (0, 0.5, 1)):
            text.set_text(fh.num(length * share, 1))
        for text, share in zip(self.levels, (0, 0.5, 1)):
            text.set_text(fh.num(one * length * share / 1e6, 1))
        self.private.set_text(fh.num(one * length, 0))
        self.shared.set_text(fh.num(one, 0))
        self.title = "One shared FFN stays the same size, however long the text"
        self.sentence = (f"At {fh.num(length)} positions one shared FFN holds {fh.num(one, 0)} weights; "
                         f"private ones would hold {fh.num(one * length, 0)}.")
        self.alt = f"Two lines against sequence length: shared, flat at {fh.num(one, 0)}; private, rising to {fh.num(one * length, 0)} at {fh.num(length)} positions."


def default():
    """The picture as published: the layer of the original Transformer, 512 → 2048 → 512."""
    return ParameterGrowth(parameters=2 * 512 * 2048 + 2048 + 512)
