"""What bends buy: a curve fitted with k ReLU kinks, and how the largest error falls with k."""
import numpy as np

import ffn_helpers as fh

CURVE, ERRORS = (56, 96, 540, 236), (692, 96, 196, 236)   # left, top, width, height in pixels


class KinkFit(fh.Picture):
    """x (n,) and target (n,); fits {k: (knots, fitted)} with knots (k,) and fitted (n,); k picks one."""
    size = 920, 400

    def check(self, x, target, fits, k):
        x = fh.checked("x", x, ("n",))
        clean = {int(count): (fh.checked(f"knots of k = {count}", knots, (int(count),)),
                              fh.checked(f"fit of k = {count}", fitted, x.shape)) for count, (knots, fitted) in fits.items()}
        if k not in clean:
            raise ValueError(f"k is {k!r}, expected one of {', '.join(map(str, clean))}")
        return dict(x=x, target=fh.checked("target", target, x.shape), fits=clean, k=k)

    # ---- what stays
    def build(self):
        v = self.values
        x, target = v["x"], v["target"]
        every = max(1, len(x) // CURVE[2])
        reach = 1.25 * np.abs(target).max()
        axes = self.axis(*CURVE, xlim=(x[0], x[-1]), ylim=(-reach, reach))
        axes.set_xticks([x[0], 0, x[-1]], [fh.num(x[0]), "0", fh.num(x[-1])])
        axes.set_yticks([-1, 0, 1], ["−1", "0", "1"])
        axes.plot(x[::every], target[::every], color=fh.SOFT, linewidth=7, solid_capstyle="butt")
        self.fit = self.moves(axes.plot([], [], color=fh.INK, linewidth=1.8, zorder=4)[0])
        self.knots = self.moves(self.patch(fh.EMPTY, fh.HIDDEN, fh.INK, 1, axes=axes, zorder=5))
        self.square = 7 * (x[-1] - x[0]) / CURVE[2], 7 * 2 * reach / CURVE[3]      # 7 pixels
        self.worst = self.moves(axes.plot([], [], color=fh.INK, linewidth=3, marker="_", markersize=16, markeredgewidth=2, zorder=6)[0])
        self.text(CURVE[0], 380, "Wide grey: the target. Thin: the fit. Pink: a bend, one for each ReLU. "
                                 "Bar: the largest error.", colour=fh.WEIGHT)
        counts = sorted(count for count in v["fits"] if count)
        errors = [self._error(count) for count in counts]
        axes = self.axis(*ERRORS, xlim=(counts[0] * 0.7, counts[-1] * 1.4), ylim=(min(errors) / 2, max(errors) * 2))
        axes.set_xscale("log"), axes.set_yscale("log")
        axes.set_xticks(counts, [str(count) for count in counts])
        marks = [mark for mark in (1, 0.1, 0.01, 0.001) if min(errors) / 2 <= mark <= max(errors) * 2]
        axes.set_yticks(marks, [fh.num(mark, 3) for mark in marks])
        axes.minorticks_off()
        axes.plot(counts, errors, color=fh.WEIGHT, marker="o", markersize=5, linewidth=1.2)
        self.current = self.moves(axes.plot([], [], linestyle="none", marker="o", markersize=10, color=fh.INK, zorder=5)[0])
        self.text(ERRORS[0] - 20, 78, "Largest error against bends", 11)

    def _error(self, k):
        return np.abs(self.values["fits"][k][1] - self.values["target"]).max()

    # ---- what moves
    def update(self):
        v = self.values
        x, k = v["x"], v["k"]
        knots, fitted = v["fits"][k]
        at = int(np.abs(fitted - v["target"]).argmax())
        error = self._error(k)
        corners = np.unique(np.concatenate([x[[0, -1]], knots]))       # between them the fit is straight
        self.fit.set_data(corners, np.interp(corners, x, fitted))
        wide, high = self.square
        self.knots.set_path(fh.rectangles(knots - wide / 2, np.interp(knots, x, fitted) - high / 2, wide, high))
        self.worst.set_data([x[at], x[at]], [fitted[at], v["target"][at]])
        self.current.set_data([k] if k else [], [error] if k else [])
        shown = fh.num(error, 3)
        half = self._error(k // 2) / error if k // 2 in v["fits"] and k > 1 else None
        self.title = (f"Without a bend the straight line misses the wave by up to {shown}" if k == 0 else
                      f"{k} ReLU bends follow the wave to within {shown}")
        self.sentence = ("No choice of slope and offset makes one line follow it." if k == 0 else
                         "Straight pieces that meet at the bends; no piece is curved." if half is None else
                         f"Twice the bends, {k} instead of {k // 2}, divide the largest error by {fh.num(half, 1)}.")
        self.alt = f"A sine wave and its fit by straight pieces with {k} bends; largest error {shown}. Beside it the error falls as bends are added."


def default():
    """sin(3x) with 0 to 64 bends at equal distances, by least squares."""
    x = np.linspace(-3, 3, 6001)
    fits = {}
    for k in (0, 8, 16, 32, 64):
        knots = np.linspace(-3, 3, k, endpoint=False)
        A = np.column_stack([np.ones_like(x), x, *(np.maximum(x - knot, 0) for knot in knots)])
        fits[k] = knots, A @ np.linalg.lstsq(A, np.sin(3 * x), rcond=None)[0]
    return KinkFit(x=x, target=np.sin(3 * x), fits=fits, k=16)
