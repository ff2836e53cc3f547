"""What bends buy: a curve fitted with k ReLU kinks, its error along the way, and how the largest error falls with k."""
import numpy as np

import ffn_helpers as fh

CURVE, STRIP, ERRORS = (80, 96, 524, 206), (80, 340, 524, 76), (704, 112, 190, 304)   # left, top, width, height in pixels
SQUARE, STROKE = 7, (2, 11)                                # a bend: a square, or a stroke where bends are close


class KinkFit(fh.Picture):
    """x (n,) and target (n,); fits {k: (knots, fitted)} with knots (k,) inside of x and fitted (n,); k picks one."""
    size = 920, 496

    def check(self, x, target, fits: dict, k: fh.NUMBER):
        x = fh.checked("x", x, ("n",))
        for count, pair in fits.items():
            if not isinstance(count, int) or count < 0 or not isinstance(pair, fh.SEVERAL) or len(pair) != 2:
                raise ValueError(f"fits must be {{number of bends: (knots, fitted)}}, got {fh.brief(count)}: {type(pair).__name__}")
        if len(x) < 2 or (np.diff(x) <= 0).any() or not fits:
            raise ValueError(f"x with shape {x.shape} should rise, and fits hold one or more, got {len(fits)}")
        clean = {int(count): (fh.checked(f"knots of fits[{count}]", knots, (int(count),)),
                              fh.checked(f"fitted of fits[{count}]", fitted, x.shape)) for count, (knots, fitted) in fits.items()}
        for count, (knots, _) in clean.items():
            if count and not (x[0] < knots.min() and knots.max() < x[-1]):
                raise ValueError(f"knots of k = {count} reach from {knots.min():g} to {knots.max():g}, expected them inside of "
                                 f"{x[0]:g} to {x[-1]:g}: at an end nothing bends")
        if k not in clean:
            raise ValueError(f"k is {fh.brief(k)}, expected one of {', '.join(map(str, clean))}")
        return dict(x=x, target=fh.checked("target", target, x.shape), fits=clean, k=int(k))

    # ---- what stays
    def build(self):
        v = self.values
        x, target = v["x"], v["target"]
        self.every = max(1, len(x) // (2 * CURVE[2]))
        reach = 1.25 * np.abs(target).max() or 1
        axes = self.axis(*CURVE, xlim=(x[0], x[-1]), ylim=(-reach, reach))
        axes.set_xticks([])
        axes.set_yticks([-1, 0, 1], ["−1", "0", "1"])
        axes.plot(x[::self.every], target[::self.every], color=fh.SOFT, linewidth=7, solid_capstyle="butt")
        self.fit = self.moves(axes.plot([], [], color=fh.INK, linewidth=1.8, zorder=4)[0])
        self.knots = self.moves(self.patch(fh.EMPTY, fh.HIDDEN, fh.INK, 1, axes=axes, zorder=5))
        self.strokes = self.moves(self.patch(fh.EMPTY, fh.HIDDEN, axes=axes, zorder=3))
        self.pixel = (x[-1] - x[0]) / CURVE[2], 2 * reach / CURVE[3]
        axes = self.axis(*STRIP, xlim=(x[0], x[-1]), ylim=(-1.12, 1.12))
        axes.set_xticks([x[0], 0, x[-1]], [fh.num(x[0]), "0", fh.num(x[-1])])
        axes.set_yticks([-1, 0, 1], [])
        axes.plot(x[[0, -1]], [0, 0], color=fh.SOFT, linewidth=0.8)
        self.misses = self.moves(axes.plot([], [], color=fh.INK, linewidth=1, zorder=4)[0])
        self.worst = self.moves(axes.plot([], [], color=fh.INK, linewidth=3, solid_capstyle="butt", zorder=5)[0])
        self.top = self.moves(axes.plot([], [], linestyle="none", marker="o", markersize=7, color=fh.INK, zorder=6, clip_on=False)[0])
        scale = [STRIP[1] + STRIP[3] * (1 - level / 1.12) / 2 for level in (1, 0, -1)]
        self.scale = [self.moves(self.text(STRIP[0] - 9, y, "", ha="right")) for y in scale]
        self.text(STRIP[0] + 8, STRIP[1] - 20, "fit minus target, on a scale of its own", 11)
        self.text(20, 474, "Wide grey: the target. Thin: the fit. Squares: bends, one for each ReLU. "
                           "Dot with a bar: the largest error.", colour=fh.WEIGHT)
        self._build_errors(sorted(v["fits"]))

    def _build_errors(self, counts):
        """The largest error of every k; k = 0, which a log scale has no place for, stands by itself on the left."""
        least = min((count for count in counts if count), default=1)
        self.place = {count: np.log2(count / least) if count else -1 for count in counts}
        places, errors = list(self.place.values()), [max(self._error(count), 1e-12) for count in counts]        # an exact fit has no place on a log scale
        axes = self.axis(*ERRORS, xlim=(places[0] - 0.5, places[-1] + 0.5), ylim=(min(errors) / 2, max(errors) * 2))
        axes.set_yscale("log")
        axes.set_xticks(places, [str(count) for count in counts])
        marks = [mark for mark in (1, 0.1, 0.01, 0.001) if min(errors) / 2 <= mark <= max(errors) * 2]
        axes.set_yticks(marks, [fh.num(mark, 3) for mark in marks])
        axes.minorticks_off()
        some = slice(1 if 0 in self.place else 0, None)
        axes.plot(places[some], errors[some], color=fh.WEIGHT, linewidth=1.2)
        axes.plot(places, errors, color=fh.WEIGHT, marker="o", markersize=5, linestyle="none")
        self.current = self.moves(axes.plot([], [], linestyle="none", marker="o", markersize=10, color=fh.INK, zorder=5)[0])
        self.text(ERRORS[0] - 46, ERRORS[1] - 20, "largest error", 11)
        self.text(ERRORS[0] + ERRORS[2] / 2, ERRORS[1] + ERRORS[3] + 36, "number of bends, k", 11, ha="center")

    def _error(self, k):
        return np.abs(self.values["fits"][k][1] - self.values["target"]).max()

    # ---- what moves
    def update(self):
        v = self.values
        x, k = v["x"], v["k"]
        knots, fitted = v["fits"][k]
        miss, error = fitted - v["target"], self._error(k)
        at, share = int(np.abs(miss).round(9).argmax()), miss / error if error else 0 * miss
        corners = np.unique(np.concatenate([x[[0, -1]], knots]))       # between them the fit is straight
        self.fit.set_data(corners, np.interp(corners, x, fitted))
        close = CURVE[2] / (k + 1) < 2 * SQUARE
        wide, high = np.multiply(STROKE if close else (SQUARE, SQUARE), self.pixel)
        marks = fh.rectangles(knots - wide / 2, np.interp(knots, x, fitted) - high / 2, wide, high)
        self.knots.set_path(fh.EMPTY if close else marks)
        self.strokes.set_path(marks if close else fh.EMPTY)
        some = np.unique(np.concatenate([x[::self.every], corners]))
        self.misses.set_data(some, np.interp(some, x, share).round(3))
        self.worst.set_data([x[at], x[at]], [0, share[at]])
        self.top.set_data([x[at]], [share[at]])
        self.current.set_data([self.place[k]], [max(error, 1e-12)])
        shown = fh.num(error, 2 if error >= 1 else 3 if error >= 0.01 else 4)
        for text, scale in zip(self.scale, (shown, "0", "−" + shown)):
            text.set_text(scale)
        half = self._error(k // 2) / error if error and k // 2 in v["fits"] and k > 1 else None
        self.title = (f"Without a bend the straight line misses the wave by up to {shown}" if k == 0 else
                      f"{k} ReLU bends follow the wave to within {shown}")
        self.sentence = ("No choice of slope and offset makes one line follow it." if k == 0 else
                         "Straight pieces that meet at the bends; no piece is curved." if half is None else
                         f"Twice the bends, {k} instead of {k // 2}, divide the largest error by {fh.num(half, 1)}.")
        self.alt = (f"A sine wave and its fit by straight pieces with {k} bends; largest error {shown}. "
                    "Below, the error along the wave; beside it, the largest error falls as bends are added.")


def default():
    """sin(3x) with 0 to 128 bends at equal distances, by least squares."""
    x = np.linspace(-3, 3, 6001)
    fits = {}
    for k in (0, 8, 16, 32, 64, 128):
        knots = np.linspace(-3, 3, k + 2)[1:-1]
        A = np.column_stack([np.ones_like(x), x, *(np.maximum(x - knot, 0) for knot in knots)])
        fits[k] = knots, A @ np.linalg.lstsq(A, np.sin(3 * x), rcond=None)[0]
    return KinkFit(x=x, target=np.sin(3 * x), fits=fits, k=16)
