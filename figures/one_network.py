"""Three tokens pass through one FFN, drawn once: figure 3 of the documents.

Each token keeps to its own lane, and the lane is the zero line of its bars: a flat lane did not
move. Beside the lanes, two grids say which row of y moves when one token is nudged.
"""
from itertools import combinations_with_replacement

import numpy as np
from matplotlib.path import Path

import ffn_helpers as fh

LANES, HALF = np.array([174, 254, 334]), 36           # zero line of each token, longest bar
X, ATT, DX, H, DY, Y = 124, (202, 284), 297, 440, 776, 870          # left edges; attention has two
SLABS = (388, 432), (704, 748)                        # W1 with b1, W2 with b2
FRAME = 372, 88, 764, 402                             # the FFN: left, top, right, bottom
BAR, PITCH = 7, 8                                     # a bar and the step from one to the next
GRIDS, GRID_Y, CELL = (336, 690), 492, 42             # left edges of the two grids, top, cell
WEIGHTS = "W1", "b1", "W2", "b2", "Wq", "Wk", "Wv", "Wo"


class OneNetwork(fh.Picture):
    """Three tokens, x (3, 8), and the weights of an FFN and of one attention head.

    W1 (8, 32), b1 (32,), W2 (32, 8), b2 (8,); Wq, Wk, Wv, Wo (8, 8); direction (8,) is what a
    nudge of 1 adds to a row. `order` says which token stands at each place, `place` (1 to 3) which
    place is nudged, `nudge` (-1 to 1) how far, `attention_first` whether x + attention(x) comes
    before the FFN.
    """
    size = 1000, 658

    def check(self, x, W1, b1, W2, b2, Wq, Wk, Wv, Wo, direction, names: fh.SEVERAL = ("the", "cat", "sat"),
              order: fh.SEVERAL = (0, 1, 2), place: fh.NUMBER = 2, nudge=1.0, attention_first: fh.FLAG = False):
        shapes = dict(x=(3, 8), W1=(8, 32), b1=(32,), W2=(32, 8), b2=(8,), Wq=(8, 8), Wk=(8, 8),
                      Wv=(8, 8), Wo=(8, 8), direction=(8,))
        given = locals()
        values = {name: fh.checked(name, given[name], shape, limit=100) for name, shape in shapes.items()}
        if len(names) != 3 or not all(isinstance(name, str) and 1 <= len(name) <= 5 for name in names):
            raise ValueError(f"names must be 3 words of 1 to 5 letters, got {fh.brief(names)}")
        if len(order) != 3 or not all(isinstance(i, fh.NUMBER) and i in (0, 1, 2) for i in order):
            raise ValueError(f"order must name one of the tokens 0, 1, 2 for each of 3 places, got {fh.brief(order)}")
        if place not in (1, 2, 3):
            raise ValueError(f"place must be 1, 2 or 3, got {fh.brief(place)}")
        return dict(values, names=tuple(names), order=tuple(int(i) for i in order), place=int(place),
                    nudge=float(fh.checked("nudge", nudge, (), limit=1)), attention_first=bool(attention_first))

    # ---- what stays
    def build(self):
        self._reach_of = None, None
        left, top, right, bottom = FRAME
        self.line([left + 44, left, left, right, right, right - 44], [top, top, bottom, bottom, top, top], fh.WEIGHT, 2.2)
        self.text((left + right) / 2, top, "one FFN: same W1, b1, W2, b2", 12, "bold", ha="center")
        for label, x in [("x", X + 32), ("Δx", DX + 32), ("Δh", H + 128), ("Δy", DY + 32), ("y", Y + 32)]:
            self.text(x, 116, label, 12, "bold", ha="center")
        for (start, end), label, sign in zip(SLABS, ("W1, b1", "W2, b2"), (1, -1)):
            slab = [(start, 20 - 14 * sign), (end, 20 + 14 * sign)]
            self.patch(fh.closed([(x, LANES[0] - HALF + 20 - grow) for x, grow in slab]
                                 + [(x, LANES[2] + HALF - 20 + grow) for x, grow in slab[::-1]]), fh.WEIGHT)
            self.text((start + end) / 2, 116, label, 11, "bold", ha="center")
        self.patch(fh.rectangles(H - 4, LANES - HALF - 2, 32 * PITCH + 7, 2 * HALF + 4), fh.tint(fh.HIDDEN, 0.13), fh.HIDDEN)
        for lane, place in zip(LANES, "123"):
            for xs in [(X - 4, ATT[0]), (ATT[1], SLABS[0][0]), (SLABS[0][1], SLABS[1][0]), (SLABS[1][1], Y - 18)]:
                self.line(xs, (lane, lane))
            for xs in SLABS:
                self.line(xs, (lane, lane), fh.ZERO, 1.6, dashes=(4, 2.5))
            self.line((Y - 2, Y + 8 * PITCH), (lane, lane))
            self.patch(fh.arrow_path((Y - 20, lane), (Y - 7, lane), 10), fh.INK)
            self.text(20, lane, place, colour=fh.WEIGHT)
        self._notes()

        patch = lambda *args, **more: self.moves(self.patch(fh.EMPTY, *args, **more))
        bars = lambda x, count: fh.Bars(self, np.tile(x + PITCH * np.arange(count), 3), BAR,
                                        np.repeat(LANES, count), -1, zorder=2)
        self.bars = {"x": bars(X, 8), "Δx": bars(DX, 8), "Δh": bars(H, 32), "Δy": bars(DY, 8), "y": bars(Y, 8)}
        self.scales = {name: self.moves(self.text(x, LANES[2] + HALF + 15, "", colour=fh.WEIGHT, ha="center"))
                       for name, x in [("x", X + 32), ("Δx", DX + 32), ("Δh", H + 128), ("Δy", DY + 32), ("y", Y + 32)]}
        self.zeros = {name: [self.moves(self.text(x, lane - 14, "", ha="center")) for lane in LANES]
                      for name, x in [("Δx", DX + 32), ("Δh", H + 128), ("Δy", DY + 32)]}
        self.names = [self.moves(self.text(54, lane, "", 12)) for lane in LANES]
        self.markers = patch(fh.INK)
        self.nudged = self.moves(self.text(20, 0, "", 10.5))
        self.weak, self.strong = patch(fh.SOFT), patch(fh.INK)
        self.box_off, self.box_on = patch("none", fh.SOFT, 1.2, linestyle="--"), patch("none", fh.WEIGHT, 2.2)
        self.box_name = self.moves(self.text(sum(ATT) / 2, 116, "", 11, ha="center"))
        self.across = patch(fh.INK)
        self.direction = self.moves(self.text(sum(ATT) / 2, 428, "", 11, ha="center"))
        self.key = self.moves(self.text(sum(ATT) / 2, 447, "", colour=fh.WEIGHT, ha="center"))
        self.same, self.same_name = patch("none", fh.INK, 1.2), self.moves(self.text(984, 0, "", rotation=90, ha="center"))
        self.squares, self.picked, self.in_force = patch(fh.INK), patch("none", fh.INK, 1.2), patch("none", fh.INK, 3.4)

    def _notes(self):
        """The words and empty grids under the lanes."""
        middle = (FRAME[0] + FRAME[2]) / 2
        self.text(middle, 428, "FFN: along its own row, feature to feature", 11, ha="center")
        self.patch(fh.joined([fh.arrow_path((middle, 413), (x, 413), 7) for x in (middle - 20, middle + 20)]), fh.INK)
        self.text(20, GRID_Y + 8, "Which rows of y move?", 12, "bold")
        for i, words in enumerate(["across: the token that is nudged", "down: the row of y", "area: how far it moves,", "per unit of nudge"]):
            self.text(20, GRID_Y + 36 + 20 * i, words)
        step = CELL * np.arange(3)
        for x, name in zip(GRIDS, ("FFN alone", "attention first")):
            self.patch(fh.rectangles(x + np.tile(step, 3), GRID_Y + np.repeat(step, 3), CELL, CELL), "none", fh.SOFT, 1)
            self.text(x + 3 * CELL + 18, GRID_Y + 40, name, 12, "bold")
        self.counts = [[self.moves(self.text(x + 3 * CELL + 18, GRID_Y + y, "", 11)) for y in (64, 86)] for x in GRIDS]
        self.text(20, 640, "Δ is what the nudge changes. Bars: up positive, down negative. Full: what a bar to the edge "
                           "of its lane stands for.", colour=fh.WEIGHT)

    # ---- what moves
    def update(self):
        v = self.values
        order, at, nudge, names = v["order"], v["place"] - 1, v["nudge"], [v["names"][i] for i in v["order"]]
        step = np.zeros((3, 8))
        step[at] = nudge * v["direction"]
        x = v["x"][list(order)]
        before, after = _forward(x, v), _forward(x + step, v)
        change = {"Δ" + name: after[name] - before[name] for name in "xhy"}
        reach, widest = self._reach()
        for name, rows in {**change, "x": x + step, "y": after["y"]}.items():
            self.bars[name].set(rows.ravel() * HALF / reach[name])
            self.scales[name].set_text("full: " + fh.num(reach[name], 1))
        moved = {name: np.abs(rows).max(axis=1) for name, rows in change.items()}
        for name, texts in self.zeros.items():
            for row, text in enumerate(texts):
                text.set_text(("exactly 0" if name == "Δh" else "0") if moved[name][row] == 0 else "")
        self._draw_tokens(names, order, at, nudge)
        self._draw_attention(after["weights"], at, v["attention_first"])
        self._draw_grids(at, x, widest)
        self._draw_same(_groups(after["y"]))
        self._say(names, order, at, nudge, moved["Δy"], before["y"])

    def _reach(self):
        """Longest bar of each column and largest grid entry over all states of the controls."""
        arrays = [self.values[name] for name in ("x", *WEIGHTS, "direction")]
        key = b"".join(array.tobytes() for array in arrays)
        if self._reach_of[0] != key:
            self._reach_of = key, _scan(self.values)
        return self._reach_of[1]

    def _draw_tokens(self, names, order, at, nudge):
        for row, (text, name) in enumerate(zip(self.names, names)):
            text.set_text(name)
            text.set_fontweight("bold" if row == at else "normal")
        self.nudged.set_text(f"nudge {_signed(nudge)}")
        self.nudged.set_position((20, LANES[at] + 26))
        places = [(42, lane) for lane in LANES] + [(Y + 80, lane) for lane in LANES]
        marks = [_marker(token, *place) for token, place in zip(order * 2, places)]
        for x in GRIDS:
            marks += [_marker(token, x + CELL * (i + 0.5), GRID_Y - 14) for i, token in enumerate(order)]
            marks += [_marker(token, x - 16, GRID_Y + CELL * (i + 0.5)) for i, token in enumerate(order)]
        self.markers.set_path(fh.joined(marks))

    def _draw_attention(self, weights, at, on):
        box = fh.rectangles(ATT[0], LANES[0] - HALF - 2, ATT[1] - ATT[0], LANES[2] - LANES[0] + 2 * HALF + 4)
        straight = [fh.rectangles(ATT[0], LANES - 0.6, ATT[1] - ATT[0], 1.2)]
        bands = {(i, j): _band(LANES[j], LANES[i], 9 * weights[i, j]) for i in range(3) for j in range(3)} if on else {}
        self.weak.set_path(fh.joined([band for (i, j), band in bands.items() if j != at]))
        self.strong.set_path(fh.joined([band for (i, j), band in bands.items() if j == at] if on else straight))
        self.box_off.set_path(fh.EMPTY if on else box)
        self.box_on.set_path(box if on else fh.EMPTY)
        self.box_name.set_text("attention" if on else "no attention")
        self.across.set_path(fh.joined([fh.arrow_path((sum(ATT) / 2, 397), (sum(ATT) / 2, y), 7) for y in (382, 412)]) if on else fh.EMPTY)
        self.direction.set_text("attention: across rows" if on else "off: each row goes straight on")
        self.key.set_text("thickness: weight; black: from the nudged row" if on else "")

    def _draw_grids(self, at, x, widest):
        squares = []
        for left, on, texts in zip(GRIDS, (False, True), self.counts):
            influence = _influence(x, self.values, on)
            side = (CELL - 9) * np.sqrt(influence / widest)
            across = np.count_nonzero(influence - np.diag(np.diag(influence)))
            texts[0].set_text(f"{np.count_nonzero(influence)} of 9 move;")
            texts[1].set_text(f"{across} of 6 across rows")
            centre = CELL * (np.arange(3) + 0.5)
            squares.append(fh.rectangles(left + centre[None] - side / 2, GRID_Y + centre[:, None] - side / 2, side, side))
        self.squares.set_path(fh.joined(squares))
        columns = [fh.rectangles(left + CELL * at, GRID_Y, CELL, 3 * CELL) for left in GRIDS]
        on = self.values["attention_first"]
        self.in_force.set_path(columns[on])
        self.picked.set_path(columns[not on])

    def _draw_same(self, groups):
        rows = next((rows for rows in groups if len(rows) > 1), [])
        lines = [Path([(Y + 94, LANES[row]), (Y + 102, LANES[row])]) for row in rows]
        if rows:
            lines.append(Path([(Y + 102, LANES[rows[0]]), (Y + 102, LANES[rows[-1]])]))
        self.same.set_path(fh.joined(lines))
        self.same_name.set_text("same y" if rows else "")
        self.same_name.set_position((984, LANES[rows].mean() if rows else LANES[1]))

    def _say(self, names, order, at, nudge, moved, y):
        on, count = self.values["attention_first"], int((moved > 0).sum())
        name, others = names[at], np.delete(moved, at)
        swapped = len(set(order)) == 3 and order != (0, 1, 2)
        nudged = f"Nudge “{name}” at place {at + 1} by {_signed(nudge)}: "
        if nudge == 0:
            self.title = ("Swapped tokens give swapped outputs, through attention too" if swapped and on else
                          "Swapped tokens give swapped outputs: the FFN does not know the place" if swapped else
                          "The same token gives the same output at every place" if len(set(order)) < 3 else
                          "One network serves every token; nothing is nudged yet")
            self.sentence = "Nothing is nudged, so nothing moves: every Δ is exactly 0."
        elif on:
            self.title = f"Attention comes first: one nudge moves {count} of 3 rows"
            self.sentence = (f"{nudged}{count} of 3 rows of y move, its own by up to {_size(moved[at])}, "
                             f"another by up to {_size(others.max())}.")
        else:
            self.title = "One network serves every token, and tokens never meet inside it"
            self.sentence = (f"{nudged}{'only its own row moves' if count == 1 else f'{count} rows move'}, by up to "
                             f"{_size(moved[at])}; the other two change by exactly {fh.num(others.max())}.")
        if order != (0, 1, 2) and not on and nudge == 0:
            copied = max(names, key=names.count)
            gap = np.abs(y - _forward(self.values["x"], self.values)["y"][list(order)]).max()
            self.sentence += (f" {'Each token' if swapped else f'“{copied}”'} {'keeps the y of its old place' if swapped else f'has one y at {names.count(copied)} places'}: "
                              f"difference {'exactly 0' if gap == 0 else f'{gap:.0e}'}.")
        self.alt = (f"Three lanes, {', '.join(names)}, through one FFN box with one W1, b1, W2, b2"
                    f"{', attention before it' if on else ''}. "
                    + (f"A nudge of {_signed(nudge)} at place {at + 1} moves {count} of 3 rows of y." if nudge else self.title + "."))


def _forward(x, v, attention_first=None):
    """What every row goes through, row by row, so that no row can depend on its place in the batch."""
    on = v["attention_first"] if attention_first is None else attention_first
    weights = None
    if on:
        scores = (x @ v["Wq"]) @ (x @ v["Wk"]).T / np.sqrt(8)
        weights = np.exp(scores - scores.real.max(axis=1, keepdims=True))
        weights = weights / weights.sum(axis=1, keepdims=True)
        x = x + weights @ (x @ v["Wv"]) @ v["Wo"]
    z = np.stack([row @ v["W1"] for row in x]) + v["b1"]
    h = z * (z.real > 0)
    return {"x": x, "h": h, "y": np.stack([row @ v["W2"] for row in h]) + v["b2"], "weights": weights}


def _influence(x, v, attention_first):
    """Entry (i, j): norm of how y row i moves per unit of nudge at place j (a complex step of 1e-30)."""
    table = np.zeros((3, 3))
    for j in range(3):
        step = np.zeros((3, 8), complex)
        step[j] = 1e-30j * v["direction"]
        table[:, j] = np.linalg.norm(_forward(x + step, v, attention_first)["y"].imag / 1e-30, axis=1)
    return table


def _scan(v):
    """Over all choices of tokens, places, nudges and both settings of attention: largest bars and grid entry."""
    reach, widest = dict.fromkeys(("x", "Δx", "Δh", "Δy", "y"), 0.1), 1e-9
    for order in combinations_with_replacement(range(3), 3):      # another order only permutes the rows
        x = v["x"][list(order)]
        for on in (False, True):
            widest = max(widest, _influence(x, v, on).max())
            before = _forward(x, v, on)
            for at, nudge in [(at, nudge) for at in range(3) for nudge in np.linspace(-1, 1, 9)]:
                step = np.zeros((3, 8))
                step[at] = nudge * v["direction"]
                after = _forward(x + step, v, on)
                seen = {"x": x + step, "y": after["y"], **{"Δ" + k: after[k] - before[k] for k in "xhy"}}
                reach = {name: max(reach[name], np.abs(rows).max()) for name, rows in seen.items()}
    return {name: np.ceil(value * 10) / 10 for name, value in reach.items()}, widest


def _signed(nudge):
    fine = round(nudge, 2) != nudge                               # typed, not dragged
    return (f"{nudge:+.4f}".rstrip("0") if fine else f"{nudge:+.2f}").replace("-", "−") if nudge else "0"


def _size(value):
    """A positive number with two digits that count, however small."""
    return fh.num(value) if value >= 0.1 or value == 0 else f"{value:.2g}".replace("-", "−")


def _groups(y):
    """Rows of y that are equal, as lists of row numbers."""
    groups = []
    for row in range(len(y)):
        home = next((rows for rows in groups if np.allclose(y[rows[0]], y[row], rtol=0, atol=1e-12)), None)
        home.append(row) if home else groups.append([row])
    return groups


def _marker(token, x, y):
    """The token's sign: a circle, a triangle or a square."""
    if token == 0:
        return fh.circle(x, y, 6)
    return fh.closed([(x, y - 7), (x + 7, y + 5.5), (x - 7, y + 5.5)]) if token == 1 else fh.rectangles(x - 5.5, y - 5.5, 11, 11)


def _band(start, end, width):
    """An S-shaped band through the attention box from lane to lane."""
    t = np.linspace(0, 1, 15)
    x, y = ATT[0] + (ATT[1] - ATT[0]) * t, start + (end - start) * (3 * t ** 2 - 2 * t ** 3)
    return fh.closed(np.vstack([np.c_[x, y - width / 2], np.c_[x, y + width / 2][::-1]]))


def default():
    """The picture as published: a random network, 8 → 32 → 8, and a random attention head."""
    rng = np.random.default_rng(44)
    x, W1, W2 = rng.normal(size=(3, 8)), rng.normal(size=(8, 32)) / 8 ** 0.5, rng.normal(size=(32, 8)) / 16 ** 0.5
    Wq, Wk, Wv, Wo = 0.3 * rng.normal(size=(4, 8, 8))
    b1, b2, direction = rng.normal(size=32) / 4, rng.normal(size=8) / 4, rng.normal(size=8)
    return OneNetwork(x=x, W1=W1, b1=b1, W2=W2, b2=b2, Wq=Wq, Wk=Wk, Wv=Wv, Wo=Wo,
                      direction=2 * direction / np.abs(direction).max())
