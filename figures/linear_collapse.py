"""Why a nonlinearity: without a ReLU three steps fold into one, with it no one step will do.

Two rows of the same steps. Left the steps on one number, in the middle their graph, right a square
grid sent through three affine maps. Dots are always the one affine step whose largest gap to the
steps is smallest.
"""
from functools import lru_cache

import numpy as np
from matplotlib.path import Path

import ffn_helpers as fh

DOCUMENT = 2, 3, 4                                         # times 2, plus 3, times 4: Figure 1 of the documents
SHEET = [([[1, 0, -0.2], [0, 1, 0.6]], [3, 3, -0.2]),       # units 1 and 2 stay on, unit 3 creases the sheet
         ([[1, 0, 1.2], [0, 1, 0.2], [1, 1, 0.6]], [0, 0, -4]),
         ([[0.8, -0.8], [0.6, 0.2], [-0.4, 0]], [0, 0])]
DEFAULT = dict(zip(("a1", "b1", "a2"), DOCUMENT), relu=1, x=-5, point=[1, -1], sheet=SHEET, slip=26)

LIMITS, REACH, SIDE = (2, 4, 4), 5, 2                      # of the steps; x is in -5 to 5, the square in -2 to 2
ROWS = 94, 350                                             # where the two rows begin
BOXES, BOX = (112, 202, 292, 382), 64                      # left edges: step, step, ReLU, step
FOLD, ENTRY, ANSWER = (112, 446), 92, 474                  # the dotted box; where arrows begin; where y stands
LINE = dict(x=586, width=128, down=26, height=172)
VIEW, INPUT = (750, 24, 232, 174), (940, -16, 42)          # the sheet's box and the square it comes from
AT, ALONG = np.linspace(-SIDE, SIDE, 7), np.linspace(-SIDE, SIDE, 41)
GRID = np.stack(np.meshgrid(AT, ALONG, indexing="ij"), 2)  # 7 lines of 41 points, then 7 across them
GRID = np.concatenate([GRID, GRID[:, :, ::-1]])
SHADES = [fh.tint(fh.INK, shade) for shade in (0.05, 0.13, 0.22, 0.3, 0.38, 0.46, 0.54)]
DOTS = dict(linestyle=(0, (0.01, 1.9)), capstyle="round")


class LinearCollapse(fh.Picture):
    """The steps y = a2 ReLU(a1 x + b1), and a sheet of three affine maps with ReLUs between them.

    a1, b1, a2  the three steps, within 2, 4 and 4         relu   0 (identity) to 1: negatives are times 1 - relu
    x           the number on the line, within 5           point  (2,) the point on the sheet, within 2
    sheet       three pairs (W, b), 2 numbers in and out   slip   the slope that the documents write
    """
    size = 1000, 616

    def check(self, a1, b1, a2, relu, x, point, sheet: fh.SEVERAL, slip):
        steps = {name: float(fh.checked(name, value, (), limit))
                 for name, value, limit in zip(("a1", "b1", "a2"), (a1, b1, a2), LIMITS)}
        relu = float(fh.checked("relu", relu, (), 1))
        if relu < 0:
            raise ValueError(f"relu is {relu:g}, expected 0 to 1")
        if len(sheet) != 3 or any(not isinstance(pair, fh.SEVERAL) or len(pair) != 2 for pair in sheet):
            raise ValueError("sheet must be three pairs (W, b)")
        maps, width = [], 2
        for i, (W, b) in enumerate(sheet, 1):
            W = fh.checked(f"W{i} of sheet", W, (width, 2 if i == 3 else "1 to 3"), 10)
            width = W.shape[1]
            if not 1 <= width <= 3:
                raise ValueError(f"W{i} of sheet has shape {W.shape}, expected 1 to 3 columns")
            maps.append((W, fh.checked(f"b{i} of sheet", b, (width,), 10)))
        return dict(**steps, relu=relu, x=float(fh.checked("x", x, (), REACH)),
                    point=fh.checked("point", point, (2,), SIDE), sheet=maps, slip=float(fh.checked("slip", slip, ())))

    # ---- what stays
    def build(self):
        self.line([20, 980], [ROWS[1] - 24] * 2, fh.SOFT, 1)
        self.rows = [_Row(self, top, number) for number, top in enumerate(ROWS)]
        self.text(20, 596, "Grey: the steps. Dots: the affine step whose largest gap is smallest; bars: that gap. "
                           "Thick: a crease. ● unit on at the point, ○ off.", colour=fh.WEIGHT)

    # ---- what moves
    def update(self):
        v = self.values
        a1, b1, a2 = steps = v["a1"], v["b1"], v["a2"]
        slopes = 1.0, 1 - v["relu"]
        line = [_line_fit(steps, slope) for slope in slopes]
        sheet = [_sheet(_key(v["sheet"]), slope) for slope in slopes]
        for row, slope, fit, drawn in zip(self.rows, slopes, line, sheet):
            row.set(v, steps, slope, fit, drawn)
        (_, _, gap, bend), gap2 = line[1], sheet[1]["gap"]
        one = _affine(*line[0][:2])
        self.title = ("ReLU amount 0: nothing is cut, so both rows fold into one step" if v["relu"] == 0 else
                      "y is the same for every x: here the line has nothing to bend" if a1 == 0 or a2 == 0 else
                      "The line does not bend: every x shown is on one side of the ReLU" if gap == 0 else
                      "Linear steps fold into one step; with a ReLU in between they cannot" if v["relu"] == 1 else
                      f"Negatives times {fh.num(slopes[1])} instead of 1: the steps no longer fold into one")
        self.sentence = (f"Both rows are one step, {one}: gap 0 on the line and on the sheet." if gap == 0 and gap2 < 5e-4 else
                         f"Without a ReLU one step does it all (line: {one}). With it the best misses by {fh.num(gap)} "
                         f"on the line, {fh.num(gap2)} on the sheet.")
        self.alt = (f"Upper row: three linear steps equal one, on a line ({one}) and on a flat grid. Lower row, ReLU amount "
                    f"{fh.num(v['relu'])} in between: the best single step misses by {fh.num(gap)} and {fh.num(gap2)}.")


class _Row:
    """One row: steps, graph and sheet, without (number 0) or with (number 1) the ReLU in between."""

    def __init__(self, picture, top, number):
        self.top, self.number, self.picture = top, number, picture
        say = lambda x, y, size=11, weight="normal", ha="center", text="": picture.moves(
            picture.text(x, top + y, text, size, weight, ha=ha))
        self.head = say(20, 0, 12, "bold", "left")
        self.on_line, self.on_sheet = say(LINE["x"] - 44, 0, 11, "bold", "left"), say(VIEW[0] - 4, 0, 11, "bold", "left")
        # the steps
        boxes = [box for i, box in enumerate(BOXES) if i != 2]
        picture.patch(fh.rectangles(boxes, top + 42, BOX, 50), fh.WEIGHT)
        stops = BOXES if number else boxes
        starts = [ENTRY, *(x + BOX for x in stops)]
        ends = [*stops, ANSWER - 6]
        picture.patch(fh.joined([fh.arrow_path((a + 2, top + 67), (b - 2, top + 67)) for a, b in zip(starts, ends)]
                                + [fh.arrow_path((a + 2, top + 152), (b - 2, top + 152))
                                   for a, b in ((ENTRY, FOLD[0]), (FOLD[1], ANSWER - 6))]), fh.INK)
        picture.patch(fh.rectangles(FOLD[0], top + 130, FOLD[1] - FOLD[0], 44), edge=fh.INK, width=2.6, **DOTS)
        self.steps = [picture.moves(picture.text(x + BOX / 2, top + 67, "", 10.5, "bold", fh.ZERO, "center")) for x in boxes]
        self.between = [say((a + b) / 2, 26) for a, b in zip(starts[1:-1], ends[1:-1])]
        self.x_in, self.x_one = say(20, 67, 10.5, ha="left"), say(20, 152, 10.5, ha="left")
        self.y_out, self.y_one = say(ANSWER, 67, 11, "bold", "left"), say(ANSWER, 152, 11, "bold", "left")
        self.sign, self.fold = say(ANSWER + 26, 110, 20, "bold"), say(sum(FOLD) / 2, 152, 12, "bold")
        self.notes = [say(FOLD[0], y, 10.5, ha="left") for y in (190, 209)]
        if number:
            picture.rectangle(BOXES[2], top + 42, BOX, 50, fh.ZERO, fh.INK, 1.4)
            self.cut = picture.moves(picture.patch(fh.EMPTY, fh.CUT, fh.WEIGHT, 0, hatch=fh.HATCH))
            self.glyph = picture.moves(picture.line([], [], width=2.4))
            self.glyph_name = say(BOXES[2] + BOX / 2, 106, 10.5)
        # the line
        reach = 10 * np.ceil((LIMITS[0] * REACH + LIMITS[1]) * LIMITS[2] / 10)
        axes = self.axes = picture.axis(LINE["x"], top + LINE["down"], LINE["width"], LINE["height"], (-5.4, 5.4), (-reach, reach))
        axes.set_xticks([-REACH, 0, REACH], [fh.num(-REACH), "0", "5"])
        axes.set_yticks([-50, 0, 50], ["−50", "0", "50"])
        picture.text(LINE["x"] + LINE["width"] + 8, top + LINE["down"] + LINE["height"], "x")
        picture.text(LINE["x"] + 8, top + LINE["down"] + 4, "y")
        put = lambda *args, **more: picture.moves(picture.patch(fh.EMPTY, *args, axes=axes, **more))
        axes.plot([-5.4, 5.4], [0, 0], color=fh.SOFT, linewidth=0.8)
        self.graph = put("none", fh.SOFT, 7, joinstyle="round", zorder=2)
        self.dots = put("none", fh.INK, 2.4, zorder=3, **DOTS)
        self.bar = put("none", fh.INK, 1.8, zorder=3)
        self.mark = picture.moves(picture.patch(fh.EMPTY, fh.INK, fh.ZERO, 1.2, zorder=9))
        # the sheet
        self.facets = [picture.moves(picture.patch(fh.EMPTY, shade)) for shade in (SHADES if number else SHADES[:1])]
        self.grid = picture.moves(picture.patch(fh.EMPTY, edge=fh.WEIGHT, width=0.9))
        self.creases = [picture.moves(picture.patch(fh.EMPTY, edge=edge, width=width, capstyle="round"))
                        for edge, width in ((fh.HIDDEN, 4.2), (fh.INK, 1))]
        self.best = picture.moves(picture.patch(fh.EMPTY, edge=fh.INK, width=2.2, **DOTS))
        self.misses = picture.moves(picture.patch(fh.EMPTY, edge=fh.INK, width=1.8))
        self.points = picture.moves(picture.patch(fh.EMPTY, fh.INK, fh.ZERO, 1.2, zorder=9))
        picture.patch(fh.arrow_path((INPUT[0] - 3, top + INPUT[1] + 34), (INPUT[0] - 22, top + INPUT[1] + 46)), fh.INK)
        self.caption = say(VIEW[0], 209, 10.5, ha="left")

    def set(self, v, steps, slope, fit, drawn):
        a1, b1, a2 = steps
        x, num = v["x"], fh.num
        relu, (m, c, gap, bend) = self.number == 1, fit
        z = a1 * x + b1
        at = [a1 * x, z] + [z if z >= 0 else slope * z] * relu
        y, one = a2 * at[-1], m * x + c
        self.head.set_text("Without a ReLU" if not relu else "With a ReLU" if slope == 0 else
                           f"ReLU amount {num(1 - slope)}")
        for label, text in zip(self.steps, (f"× {num(a1)}", f"{_sign(b1)} {num(abs(b1))}", f"× {num(a2)}")):
            label.set_text(text)
        for label, value in zip(self.between, at):
            label.set_text(num(value))
        for label, name, value in [(self.x_in, "x", x), (self.x_one, "x", x), (self.y_out, "y", y), (self.y_one, "y", one)]:
            label.set_text(f"{name} = {num(value)}")
        self.sign.set_text("=" if abs(y - one) < 5e-3 else "≠")
        self.fold.set_text(_affine(m, c, "     "))
        if relu:
            self.glyph_name.set_text("ReLU" if slope == 0 else f"below 0: × {num(slope)}")
            left, middle, right, y0, reach = BOXES[2], BOXES[2] + BOX / 2, BOXES[2] + BOX, self.top + 67, 21
            self.glyph.set_data([left + 4, middle, right - 4], [y0 + slope * reach, y0, y0 - reach])
            self.cut.set_path(fh.closed([(left + 4, y0 + slope * reach), (middle, y0), (left + 4, y0 + reach)]) if slope < 1 else fh.EMPTY)
            first = "one step is enough" if gap == 0 else f"no single step gets closer than {num(gap)}"
            second = "" if bend is None or gap == 0 else f"y bends at x = {num(bend)}"
        else:
            first = f"slope {_times(a1, a2)} = {num(m)}" + (
                f"; the documents’ {num(v['slip'])} would give {num(v['slip'] * x + c)}" if steps == DOCUMENT else "")
            second = f"offset {_times(b1, a2)} = {num(c)}"
        for note, text in zip(self.notes, (first, second)):
            note.set_text(text)
        self._set_line(steps, slope, m, c, gap, bend, x, y)
        self._set_sheet(v["point"], v["sheet"], drawn, slope)

    def _set_line(self, steps, slope, m, c, gap, bend, x, y):
        bends = gap > 0
        self.on_line.set_text(f"On a line: gap {fh.num(gap)}")
        xs = np.array([-REACH, *([bend] if bends else []), REACH])
        self.graph.set_path(Path(np.stack([xs, _chain(steps, slope, xs)], 1)))
        ends = np.array([-REACH, REACH])
        self.dots.set_path(Path(np.stack([ends, m * ends + c], 1)))
        self.bar.set_path(fh.joined([_beam(self.axes, (at, _chain(steps, slope, at)), (at, m * at + c)) for at in xs])
                          if bends else fh.EMPTY)
        self.mark.set_path(fh.circle(*_pixels(self.axes, (x, y), self.picture.size[1]), 5))

    def _set_sheet(self, point, sheet, drawn, slope):
        self.on_sheet.set_text(f"On a sheet: gap {fh.num(drawn['gap'])}")
        scale, middle = _frame(drawn["key"])
        x, y, width, height = VIEW
        place = lambda points: (points - middle) * (scale, -scale) + (x + width / 2, self.top + y + height / 2)
        small = lambda points: points * (INPUT[2] / 2 / SIDE, -INPUT[2] / 2 / SIDE) + (INPUT[0] + INPUT[2] / 2, self.top + INPUT[1] + INPUT[2] / 2)
        for level, patch in enumerate(self.facets):
            patch.set_path(fh.joined([fh.closed(place(corners)) for corners, cut in drawn["facets"] if cut * (slope < 1) == level]
                                     + ([fh.rectangles(INPUT[0], self.top + INPUT[1], INPUT[2], INPUT[2])] if level == 0 else [])))
        self.grid.set_path(fh.joined([_lines(place(drawn["grid"])), _lines(small(GRID[[0, 2, 4, 6, 7, 9, 11, 13], ::40]))]))
        for patch in self.creases:
            patch.set_path(_lines(np.concatenate([place(drawn["creases"]), small(drawn["creases_in"])])))
        self.best.set_path(_lines(place(drawn["best"])))
        self.misses.set_path(fh.joined([_beam(None, a, b) for a, b in place(drawn["misses"])]))
        out, on = _forward(sheet, slope, point)
        self.points.set_path(fh.joined([fh.circle(*place(out), 5), fh.circle(*small(point), 4)]))
        self.caption.set_text("a square grid, 3 affine maps" if self.number == 0 else
                              "no unit is off: nothing is cut" if slope == 1 else
                              ", ".join(f"layer {i} " + "".join("○●"[int(unit)] for unit in layer) for i, layer in enumerate(on, 1)))


# ---- the line
def _chain(steps, slope, x):
    a1, b1, a2 = steps
    z = a1 * x + b1
    return a2 * np.where(z >= 0, z, slope * z)


def _line_fit(steps, slope):
    """Slope, offset, largest gap and bend of the best affine step on [-5, 5].

    With one bend the function is convex or concave, and the best step is parallel to the chord, half
    way between it and the bend (Chebyshev): it misses by the same gap at both ends and at the bend.
    """
    (a1, b1, _), (low, high) = steps, _chain(steps, slope, np.array([-REACH, REACH]))
    m, c = (high - low) / (2 * REACH), (high + low) / 2
    bend = -b1 / a1 if a1 and abs(b1) < REACH * abs(a1) else None
    if bend is None:
        return m, c, 0.0, None
    sag = float(_chain(steps, slope, bend) - (m * bend + c))
    return (m, c + sag / 2, abs(sag) / 2, bend) if abs(sag) > 1e-9 else (m, c, 0.0, None)


# ---- the sheet
def _forward(sheet, slope, x):
    """Where points of the square end up, and for each hidden layer which units are on."""
    on = []
    for i, (W, b) in enumerate(sheet):
        x = x @ W + b
        if i < 2:
            on.append(x > 0)
            x = np.where(on[-1], x, slope * x)
    return x, on


def _regions(sheet, slope):
    """The pieces of the square on which the sheet is affine: (corners, M, c, number of units cut)."""
    pieces = [(np.array([(-SIDE, -SIDE), (SIDE, -SIDE), (SIDE, SIDE), (-SIDE, SIDE)], float), np.eye(2), np.zeros(2), 0)]
    for layer, (W, b) in enumerate(sheet):
        pieces = [(corners, M @ W, c @ W + b, cut) for corners, M, c, cut in pieces]
        for unit in range(W.shape[1] if layer < 2 else 0):
            halves = []
            for corners, M, c, cut in pieces:
                z = corners @ M[:, unit] + c[unit]
                if z.max() > 1e-9 or z.min() >= -1e-9:
                    halves.append((corners if z.min() >= -1e-9 else _clip(corners, z), M, c, cut))
                if z.min() < -1e-9:
                    keep = np.where(np.arange(M.shape[1]) == unit, slope, 1.0)
                    halves.append((corners if z.max() <= 1e-9 else _clip(corners, -z), M * keep, c * keep, cut + 1))
            pieces = halves
    return pieces


def _clip(corners, z):
    """The part of a convex polygon where z >= 0, z being given at its corners."""
    kept = []
    for i in range(len(corners)):
        if (z[i - 1] > 0) != (z[i] > 0) and z[i - 1] != z[i]:
            kept.append(corners[i - 1] + (corners[i] - corners[i - 1]) * z[i - 1] / (z[i - 1] - z[i]))
        if z[i] > 0:
            kept.append(corners[i])
    return np.array(kept)


def _sheet_fit(inputs, outputs, tolerance=1e-3):
    """The affine map (3, 2) whose largest distance to `outputs` is smallest, and that distance.

    Lawson's reweighting: least squares, then each point's weight grows with its distance. A weighted
    mean of the squares is a lower bound for every affine map, so the loop knows when it is close.
    """
    A, weight = np.column_stack([inputs, np.ones(len(inputs))]), np.full(len(inputs), 1 / len(inputs))
    for _ in range(2000):
        T = np.linalg.lstsq(A * np.sqrt(weight)[:, None], outputs * np.sqrt(weight)[:, None], rcond=None)[0]
        miss = np.hypot(*(outputs - A @ T).T)
        if miss.max() < 1e-9 or miss.max() <= (1 + tolerance) * np.sqrt(weight @ miss ** 2):
            break
        weight = weight * miss / (weight @ miss)
    return T, miss.max()


@lru_cache(maxsize=64)
def _sheet(key, slope):
    """Everything that is drawn of a sheet, in its own units. It is affine on every piece, and a distance
    to an affine map is largest in a corner: the corners are all that the fit needs."""
    sheet = _maps(key)
    pieces = _regions(sheet, slope)
    inputs = np.unique(np.concatenate([corners for corners, *_ in pieces]).round(9), axis=0)
    outputs = _forward(sheet, slope, inputs)[0]
    T, gap = _sheet_fit(inputs, outputs)
    gap = float(gap) if gap > 1e-6 else 0.0
    fitted = lambda points: points @ T[:2] + T[2]
    near = np.hypot(*(outputs - fitted(inputs)).T) > (0.97 * gap if gap else np.inf)
    edges = [(np.stack([corners, np.roll(corners, -1, 0)], 1), M, c) for corners, M, c, _ in pieces]
    edges = [(pairs[~_on_border(pairs)] if slope < 1 else pairs[:0], M, c) for pairs, M, c in edges]
    return dict(gap=gap, key=key, facets=[(corners @ M + c, cut) for corners, M, c, cut in pieces],
                grid=_forward(sheet, slope, GRID)[0], best=fitted(GRID[[0, 3, 6, 7, 10, 13], ::40]),
                creases=np.concatenate([pairs @ M + c for pairs, M, c in edges]),
                creases_in=np.concatenate([pairs for pairs, _, _ in edges]),
                misses=np.stack([outputs, fitted(inputs)], 1)[near])


@lru_cache(maxsize=16)
def _frame(key):
    """Scale and middle that hold the sheet and its dots at every ReLU amount."""
    drawn = [_sheet(key, slope) for slope in (0.0, 0.25, 0.5, 0.75, 1.0)]
    seen = np.concatenate([points.reshape(-1, 2) for one in drawn for points in (one["grid"], one["best"])])
    low, high = seen.min(0), seen.max(0)
    return min(VIEW[2:] / np.maximum(high - low, 1e-9)), (low + high) / 2


def _key(sheet):
    return tuple((W.shape, W.tobytes(), b.tobytes()) for W, b in sheet)


def _maps(key):
    return [(np.frombuffer(W).reshape(shape), np.frombuffer(b)) for shape, W, b in key]


def _on_border(pairs):
    return (np.abs(np.abs(pairs) - SIDE) < 1e-9).all(1).any(1) & (np.abs(pairs[:, 0] - pairs[:, 1]) < 1e-9).any(1)


# ---- shapes and words
def _lines(points):
    """One path of n lines, (n, points in each, 2)."""
    count, length = points.shape[:2]
    return Path(points.reshape(-1, 2), ([Path.MOVETO] + [Path.LINETO] * (length - 1)) * count) if count else fh.EMPTY


def _pixels(axes, point, height):
    x, y = axes.transData.transform(point)
    return x, height - y


def _beam(axes, a, b, cap=5):
    """An I-beam from a to b; its caps are `cap` pixels to each side, in the units of `axes` or of the page."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if axes is None:
        length = max(np.hypot(*(b - a)), 1e-9)
        side = np.array([a[1] - b[1], b[0] - a[0]]) / length * cap
    else:
        side = np.array([cap * 10.8 / LINE["width"], 0])
    return _lines(np.array([[a, b], [a - side, a + side], [b - side, b + side]]))


def _sign(value):
    return "−" if value < 0 else "+"


def _affine(m, c, space=" "):
    return f"× {fh.num(m)}{space}{_sign(c)} {fh.num(abs(c))}"


def _times(a, b):
    bracket = lambda value: fh.num(value) if value >= 0 else f"({fh.num(value)})"
    return f"{bracket(a)} · {bracket(b)}"


def default():
    """The picture as published: the document's own three steps, and a sheet that creases twice."""
    return LinearCollapse(**DEFAULT)
