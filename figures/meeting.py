"""The documents' analogy, drawn with its numbers: attention is a meeting, the FFN private study.

Left: four tokens hear each other. Right: each studies alone, on scratch paper four times as wide as its
notes, from the one book that all share. Below: every layer has a meeting and a book of its own.
"""
import numpy as np
from matplotlib.path import Path

import ffn_helpers as fh
import model_costs

TABLE, RADIUS, HEAD = (152, 272), 96, 19              # the round table and the people on its rim
ANGLES = np.radians([225, 315, 45, 135])              # the first sits top left, then clockwise
BOOTHS, BOOTH_W, BOOTH_Y = 466 + 144 * np.arange(4), 138, (120, 432)        # centres, width, top and bottom
NOTES, SCRATCH, RESULT, KEPT = 192, 262, 332, 394     # middles of the four strips
BAR, HALF = 4, 24                                     # width of a number, longest bar
BOOK, STRIP_Y = (682, 512), 616                       # middle of the book, the row of layers


class Meeting(fh.Picture):
    """weights (layers, 4, 4): row hears column; notes (layers, 4, 8), scratch (layers, 4, 32), result (layers, 4, 8):
    what a token knows after the meeting, its h, its FFN output. `layer` (from 1) is the one that is shown."""
    size = 1000, 700

    def check(self, weights, notes, scratch, result, names: fh.SEVERAL = ("the", "cat", "sat", "down"), layer: fh.NUMBER = 1):
        given = locals()
        weights = fh.checked("weights", weights, ("layers", 4, 4))
        layers = len(weights)
        if not 1 <= layers <= 6:
            raise ValueError(f"weights with shape {weights.shape} should hold 1 to 6 layers")
        if weights.min() < 0 or np.abs(weights.sum(axis=2) - 1).max() > 1e-6:
            raise ValueError(f"weights with shape {weights.shape} should have rows that sum to 1, none below 0")
        shapes = dict(notes=(layers, 4, 8), scratch=(layers, 4, 32), result=(layers, 4, 8))
        arrays = {name: fh.checked(name, given[name], shape) for name, shape in shapes.items()}
        if arrays["scratch"].min() < 0:
            raise ValueError(f"scratch holds {arrays['scratch'].min():.3g}, expected h after a ReLU, not below 0")
        if len(names) != 4 or not all(isinstance(name, str) and 1 <= len(name) <= 5 for name in names):
            raise ValueError(f"names must be 4 words of 1 to 5 letters, got {fh.brief(names)}")
        return dict(weights=weights, **arrays, names=tuple(names), layer=model_costs.whole("layer", layer, 1, layers))

    # ---- what stays
    def build(self):
        v = self.values
        self.seats = np.array(TABLE) + RADIUS * np.c_[np.cos(ANGLES), np.sin(ANGLES)]
        self.text(20, 96, "1  Meeting: attention", 12, "bold")
        self.text(BOOTHS[0] - BOOTH_W / 2, 96, "2  Private study: FFN", 12, "bold")
        self.patch(fh.circle(*TABLE, RADIUS), fh.tint(fh.INK, 0.06), fh.WEIGHT, 1.6)
        for token, (name, seat) in enumerate(zip(v["names"], self.seats)):
            _person(self, token, *seat)
            self.text(seat[0], seat[1] + (-34 if seat[1] < TABLE[1] else 34), name, 12, ha="center")
        self.patch(fh.arrow_path((286, 306), (326, 306), 13, 4), fh.INK)
        self.text(306, 284, "then", ha="center")
        left = BOOTHS[0] - BOOTH_W / 2 - 10
        for y, words in ((NOTES, "notes, 8"), (SCRATCH, "scratch, 32"), (RESULT, "result, 8"), (KEPT, "kept, 8")):
            self.text(left, y, words, ha="right")
        for centre, token in zip(BOOTHS, range(4)):
            x, (top, bottom) = centre - BOOTH_W / 2, BOOTH_Y
            self.line((x, x, x + BOOTH_W, x + BOOTH_W), (bottom, top, top, bottom), fh.INK, 3.4, solid_joinstyle="miter")
            _person(self, token, centre - 24, 144)
            self.text(centre + 2, 144, v["names"][token], 12)
            for y in (NOTES, RESULT, KEPT):
                self.rectangle(centre - 18, y - HALF - 1, 36, 2 * HALF + 2, fh.ZERO, fh.INK, 1)
            self.rectangle(centre - 65, SCRATCH - HALF - 1, 130, 2 * HALF + 2, fh.tint(fh.HIDDEN, 0.13), fh.HIDDEN)
            for side in (-1, 1):
                self.line((centre + 18 * side, centre + 65 * side), (NOTES + HALF + 1, SCRATCH - HALF - 1), fh.HIDDEN, 1)
                self.line((centre + 65 * side, centre + 18 * side), (SCRATCH + HALF + 1, RESULT - HALF - 1), fh.HIDDEN, 1)
            self.patch(fh.arrow_path((BOOK[0] + (centre - BOOK[0]) * 0.3, BOOK[1] - 40), (centre, BOOTH_Y[1] + 6), 11, 3), fh.WEIGHT)
        self.text(left, KEPT + 24, "= notes + result", colour=fh.WEIGHT, ha="right")
        self._book()
        self._layers(len(v["weights"]))
        patch = lambda *args, **more: self.moves(self.patch(fh.EMPTY, *args, **more))
        self.talk = patch(fh.INK, zorder=1.5)
        self.zero = self.patch(fh.joined([fh.rectangles(BOOTHS - 16, y - 0.5, 32, 1) for y in (NOTES, RESULT, KEPT)]
                                         + [fh.rectangles(BOOTHS - 64, SCRATCH + HALF - 1, 128, 1)]), fh.INK, zorder=2.2)
        bars = lambda y, count: fh.Bars(self, (BOOTHS[:, None] - count * BAR / 2 + BAR * np.arange(count)).ravel() + 0.4, BAR - 0.8, y, -1, zorder=2)
        self.bars = dict(notes=bars(NOTES, 8), scratch=bars(SCRATCH + HALF, 32), result=bars(RESULT, 8), kept=bars(KEPT, 8))
        self.frame, self.number = patch("none", fh.INK, 3), self.moves(self.text(BOOK[0], BOOK[1] + 34, "", 11, "bold", ha="center"))

    def _book(self):
        x, y = BOOK
        self.rectangle(x - 118, y - 26, 236, 48, fh.WEIGHT, line=0)
        for side in (-1, 1):
            edge = [(x, y - 26), (x + 40 * side, y - 38), (x + 80 * side, y - 36), (x + 112 * side, y - 30),
                    (x + 112 * side, y + 14), (x + 80 * side, y + 8), (x + 40 * side, y + 6), (x, y + 18)]
            self.patch(fh.closed(edge), fh.ZERO, fh.INK, 1.6)
        self.text(x - 56, y - 12, "W1, b1", 12, "bold", ha="center")
        self.text(x + 56, y - 12, "W2, b2", 12, "bold", ha="center")
        self.text(x - 132, y - 16, "one book for all four:", 11, "bold", ha="right")
        self.text(x - 132, y + 4, "nobody has a unit of its own", ha="right")
        self.text(x + 132, y - 16, "read only:", 11, "bold")
        self.text(x + 132, y + 4, "no notes left in it")

    def _layers(self, layers):
        self.text(20, STRIP_Y - 32, f"{layers} layers: a new meeting and a new book in each", 12, "bold")
        self.lefts = 24 + 160 * np.arange(layers)
        for i, x in enumerate(self.lefts):
            seats = np.array([x + 26, STRIP_Y + 20]) + 17 * np.c_[np.cos(ANGLES), np.sin(ANGLES)]
            self.patch(fh.circle(x + 26, STRIP_Y + 20, 17), fh.tint(fh.INK, 0.06), fh.WEIGHT, 1)
            self.patch(fh.joined([fh.circle(*seat, 4) for seat in seats]), fh.INK)
            booths = x + 58 + 17 * np.arange(4)
            self.patch(fh.joined([Path([(b, STRIP_Y + 20), (b, STRIP_Y + 2), (b + 15, STRIP_Y + 2), (b + 15, STRIP_Y + 20)]) for b in booths]), "none", fh.INK, 1.2)
            self.patch(fh.joined([fh.circle(b + 7.5, STRIP_Y + 11, 4) for b in booths]), fh.INK)
            self.rectangle(x + 58, STRIP_Y + 23, 66, 17, fh.WEIGHT, line=0)
            self.text(x + 91, STRIP_Y + 31, str(i + 1), 10.5, "bold", fh.ZERO, ha="center")
            if i:
                self.patch(fh.arrow_path((x - 24, STRIP_Y + 20), (x - 9, STRIP_Y + 20), 8, 2), fh.INK)
        self.text(20, 684, "An analogy. Line width: attention weight, head at the one who hears. Bars: real numbers, "
                           "random weights, 8 → 32 → 8.", colour=fh.WEIGHT)

    # ---- what moves
    def update(self):
        v, at = self.values, self.values["layer"] - 1
        kept = v["notes"] + v["result"]
        reach = max(np.abs(rows[at]).max() for rows in (v["notes"], v["result"], kept)) or 1.0
        for name, rows in (("notes", v["notes"]), ("result", v["result"]), ("kept", kept)):
            self.bars[name].set(rows[at].ravel() * HALF / reach)
        self.bars["scratch"].set(v["scratch"][at].ravel() * 2 * HALF / (v["scratch"][at].max() or 1.0))
        weights = v["weights"][at]
        arrows = []
        for i in range(4):
            for j in range(4):
                if i != j:
                    along = self.seats[i] - self.seats[j]
                    along = along / np.hypot(*along)
                    shift = np.array([-along[1], along[0]]) * 6
                    width = max(12 * weights[i, j], 0.4)
                    arrows.append(fh.arrow_path(self.seats[j] + along * (HEAD + 2) + shift, self.seats[i] - along * (HEAD + 2) + shift, 6 + 1.1 * width, width))
        self.talk.set_path(fh.joined(arrows))
        self.frame.set_path(fh.rectangles(self.lefts[at] - 8, STRIP_Y - 12, 140, 60))
        self.number.set_text(f"book of layer {at + 1}")
        off = weights - np.diag(np.diag(weights))
        i, j = np.unravel_index(off.argmax(), off.shape)
        used = int((v["scratch"][at] > 0).sum())
        self.title = "Attention is the meeting, the FFN is private study from one shared book"
        self.sentence = (f"Layer {at + 1} of {len(v['weights'])}: “{v['names'][i]}” listens most to “{v['names'][j]}” ({fh.num(off[i, j])}); then each studies alone; "
                         f"{used} of {v['scratch'][at].size} scratch numbers are not cut.")
        self.alt = (f"Four tokens at a round table, then in four closed booths with notes, scratch paper four times wider and a result, all from one book. "
                    f"Layer {at + 1}: {used} of {v['scratch'][at].size} scratch numbers are not cut.")


def _person(picture, token, x, y):
    """A token as a person: its marker in a ring."""
    picture.patch(fh.circle(x, y, HEAD), fh.ZERO, fh.INK, 2.4, zorder=2)
    mark = (fh.circle(x, y, 8), fh.closed([(x, y - 10), (x + 9, y + 7), (x - 9, y + 7)]), fh.rectangles(x - 7.5, y - 7.5, 15, 15),
            fh.closed([(x, y - 10), (x + 9, y), (x, y + 10), (x - 9, y)]))[token]
    picture.patch(mark, fh.INK, zorder=2.1)


def _normed(x):
    away = x - x.mean(axis=1, keepdims=True)
    return away / away.std(axis=1, keepdims=True)


def default(layers=6):
    """The picture as published: six random layers, one head, 8 → 32 → 8, with residuals and norms."""
    rng = np.random.default_rng(7)
    x, out = rng.normal(size=(4, 8)), dict(weights=[], notes=[], scratch=[], result=[])
    for _ in range(layers):
        Wq, Wk, Wv = rng.normal(size=(3, 8, 8)) / 8 ** 0.5
        W1, W2 = rng.normal(size=(8, 32)) / 8 ** 0.5, rng.normal(size=(32, 8)) / 32 ** 0.5
        n = _normed(x)
        scores = np.exp(n @ Wq @ (n @ Wk).T / 8 ** 0.5)
        weights = scores / scores.sum(axis=1, keepdims=True)
        notes = x + weights @ n @ Wv
        scratch = np.maximum(_normed(notes) @ W1, 0)
        x = notes + scratch @ W2
        for name, value in dict(weights=weights, notes=notes, scratch=scratch, result=scratch @ W2).items():
            out[name].append(value)
    return Meeting(**{name: np.array(rows) for name, rows in out.items()})
