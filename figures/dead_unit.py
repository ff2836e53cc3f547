"""One hidden unit over many tokens: what each token can teach it under three activations.

Tokens stand sorted by z. A token reaches the unit's weights through the slope of the activation at
its z, so a row of bars is a row of lessons: no bar, no lesson.
"""
import numpy as np
import torch

import ffn_helpers as fh

X, WIDE, NOTES = 118, 560, 694                      # the bars: left edge, width; left edge of the words
Z_ZERO, Z_UNIT = 134, 5.5                           # where z = 0 stands, pixels for 1
ROWS, HEIGHT = (272, 360, 448), 56                  # where a slope of 0 stands in each row, pixels for a slope of 1
FARTHEST = 11                                       # largest |z| that has room


class DeadUnit(fh.Picture):
    """z (tokens,) without bias, bias (a number), activations {name: function}, three of them, ReLU first."""
    size = 900, 512

    def check(self, z, activations: dict, bias=0.0):
        z = np.sort(fh.checked("z", z, ("tokens",), limit=FARTHEST))
        if not 8 <= len(z) <= 100:
            raise ValueError(f"z has shape {z.shape}, expected 8 to 100 tokens")
        bias = float(fh.checked("bias", bias, ()))
        if np.abs(z + bias).max() > FARTHEST:
            raise ValueError(f"bias is {fh.num(bias)} and takes z to {fh.num(np.abs(z + bias).max())}, expected at most {FARTHEST}")
        if len(activations) != 3 or not all(map(callable, activations.values())):
            raise TypeError("activations must be a dict of 3 functions by name")
        for name, function in activations.items():
            fh.kind("a name in activations", name, str)
            try:
                fh.checked(name, _slope(function, z + bias), z.shape)
            except Exception as error:             # whatever a function of the reader's own raises
                raise TypeError(f"activations: {name} must take a float64 tensor and give one of its shape, got {type(error).__name__}: {error}") from None
        return dict(z=z, activations=activations, bias=bias)

    # ---- what stays
    def build(self):
        count = len(self.values["z"])
        pitch = WIDE / count
        self.left, self.pitch = X + pitch * np.arange(count), pitch
        self.line([X, X + WIDE], [Z_ZERO] * 2)
        self.text(20, Z_ZERO - 9, "z, sorted", 12, "bold")
        self.text(20, Z_ZERO + 11, "with bias", colour=fh.WEIGHT)
        self.cut = self.moves(self.patch(fh.EMPTY, fh.CUT, fh.WEIGHT, 0, hatch=fh.HATCH, zorder=1))
        self.z = fh.Bars(self, self.left + 1, pitch - 2, Z_ZERO, -Z_UNIT, zorder=2)
        self.on = self.moves(self.text(NOTES, Z_ZERO - 9, "", 11, "bold"))
        self.off = self.moves(self.text(NOTES, Z_ZERO + 11, "", 11))
        self.slopes, self.lessons, self.largest = [], [], []
        for name, y in zip(self.values["activations"], ROWS):
            self.line([X, X + WIDE], [y] * 2)
            self.line([X, X + WIDE], [y - HEIGHT] * 2, fh.SOFT, 1, dashes=(3, 3), zorder=1)
            self.text(20, y - 30, name, 12, "bold")
            self.text(20, y - 10, "slope", colour=fh.WEIGHT)
            self.text(X - 8, y, "0", ha="right")
            self.text(X - 8, y - HEIGHT, "1", ha="right")
            self.slopes.append(fh.Bars(self, self.left + 1, pitch - 2, y, -HEIGHT, zorder=2))
            self.lessons.append(self.moves(self.text(NOTES, y - 34, "", 11, "bold")))
            self.largest.append(self.moves(self.text(NOTES, y - 14, "", 11)))
        self.text(20, 494, "One column, one token. Bars: up positive, down negative. Hatched: the ReLU lets nothing back to the weights.",
                  colour=fh.WEIGHT)

    # ---- what moves
    def update(self):
        v = self.values
        z, names = v["z"] + v["bias"], list(v["activations"])
        slopes = [_slope(function, z) for function in v["activations"].values()]
        self.z.set(z)
        silent = slopes[0] == 0
        starts, ends = np.flatnonzero(np.diff(silent, prepend=False, append=False)).reshape(-1, 2).T
        self.cut.set_path(fh.rectangles(X + self.pitch * starts, ROWS[0] - HEIGHT, self.pitch * (ends - starts), HEIGHT))
        taught = [int(np.count_nonzero(slope)) for slope in slopes]
        for bars, slope, lessons, largest, count in zip(self.slopes, slopes, self.lessons, self.largest, taught):
            bars.set(slope)
            lessons.set_text(f"not 0: {count} of {len(z)}")
            largest.set_text(f"|slope| at most {_small(np.abs(slope).max())}".replace("at most below", "below"))
        on = int((z > 0).sum())
        self.on.set_text(f"on for {on} of {len(z)}")
        self.off.set_text(f"largest z {fh.num(z.max())}")
        first, rest = names[0], " and ".join(names[1:])
        self.title = (f"Off for all {len(z)} tokens: the {first} unit is dead, {rest} keep a slope" if taught[0] == 0 else
                      f"On for all {len(z)} tokens: nothing is cut" if on == len(z) else
                      f"Off for {len(z) - on} of {len(z)} tokens, and the {first} unit still learns from {taught[0]}")
        self.sentence = (f"Bias {fh.num(v['bias'], 4)}: largest |slope| "
                         + ", ".join(f"{name} {_small(np.abs(slope).max())}" for name, slope in zip(names, slopes)) + ".")
        self.alt = (f"One unit over {len(z)} tokens at bias {fh.num(v['bias'], 4)}: bars of z and of the slopes of {', '.join(names)}. "
                    f"Slopes that are not 0: {first} {taught[0]}, {names[1]} {taught[1]}.")


def _slope(function, z):
    z = torch.tensor(z, requires_grad=True)
    return torch.autograd.grad(function(z).sum(), z)[0].numpy()


def _small(value):
    """A size in words that do not lie about 0."""
    return "exactly 0" if value == 0 else "below 0.001" if value < 0.001 else f"{value:.3f}"


def default():
    """48 tokens with z from a normal distribution and a bias of -1."""
    z = np.random.default_rng(5).normal(size=48)
    normal = lambda z: 0.5 * (1 + torch.erf(z / 2 ** 0.5))
    return DeadUnit(z=z, bias=-1, activations={"ReLU": lambda z: z * (z > 0), "GELU": lambda z: z * normal(z),
                                               "SiLU": lambda z: z * torch.sigmoid(z)})
