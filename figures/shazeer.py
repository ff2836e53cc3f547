"""Shazeer 2020, Table 1, as dots: what a gate changes, what the choice of activation changes.

A row is one activation, without a gate (ring) and with one (dot). Two variants are picked; the
bracket under the rows is the difference between them.
"""
import math

import numpy as np
from matplotlib.path import Path

import ffn_helpers as fh

ROWS = [("ReLU", "ReLU", "ReGLU"), ("GELU", "GELU", "GEGLU"), ("SiLU (Swish)", "SiLU", "SwiGLU"),
        ("sigmoid", None, "GLU"), ("no function", None, "Bilinear")]       # activation, without a gate, with one
VARIANTS = [name for row in ROWS for name in row[1:] if name]
PANELS, WIDTH = (172, 566), 318                       # left edges of the two panels, both to one scale
TOP, PITCH, AXIS = 158, 62, 482                       # first row, step, the axis
BRACKET = 448


class Shazeer(fh.Picture):
    """table {variant: (short, spread, long)}: log-perplexity after 65,536 steps (mean of 4 runs and their
    standard deviation) and after 524,288 steps (1 run), for the eight variants of Shazeer's Table 1.

    `first` and `second` are the variants compared; `borrow` draws the short runs' spread at the long runs too.
    """
    size = 900, 592

    def check(self, table: dict, first: str = "ReLU", second: str = "SwiGLU", borrow: fh.FLAG = False):
        if set(table) != set(VARIANTS):
            raise ValueError(f"table must hold the variants {', '.join(VARIANTS)}")
        for name, picked in (("first", first), ("second", second)):
            if picked not in VARIANTS:
                raise ValueError(f"{name} is {fh.brief(picked)}, expected one of {', '.join(VARIANTS)}")
        rows = {name: tuple(fh.checked(f"table of {name}", table[name], (3,), limit=100).tolist()) for name in VARIANTS}
        return dict(table=rows, first=first, second=second, borrow=bool(borrow))

    # ---- what stays
    def build(self):
        table = self.values["table"]
        ends = [[value for name in VARIANTS for value in (table[name][column] - table[name][1], table[name][column] + table[name][1])]
                for column in (0, 2)]
        span = 0.013 + max(max(column) - min(column) for column in ends)
        self.place = []
        for left, column in zip(PANELS, ends):
            low = (max(column) + min(column) - span) / 2
            self.place.append(lambda value, left=left, low=low: left + WIDTH * (value - low) / span)
            self._axis(left, low, span)
        self.text(20, 92, "Activation", 12, "bold")
        for left, head, words in zip(PANELS, ("After 65,536 steps", "After 524,288 steps"), ("mean of 4 runs; bar: ± 1 standard deviation", "1 run, its spread is not published")):
            self.text(left, 92, head, 12, "bold")
            if left == PANELS[0]:
                self.text(left, 114, words, colour=fh.WEIGHT)
        self.known = self.moves(self.text(PANELS[1], 114, "", colour=fh.WEIGHT))
        arrows, bars, self.labels = [], [], {}
        for row, (activation, plain, gated) in enumerate(ROWS):
            y = TOP + PITCH * row
            self.text(20, y, activation, 12)
            if plain is None:
                self.text(20, y + 18, "only as a gate", colour=fh.WEIGHT)
            for panel, left in enumerate(PANELS):
                at = lambda name: self.place[panel](table[name][2 * panel])
                self.line([left, left + WIDTH], [y, y], fh.tint(fh.SOFT, 0.5), 1, zorder=0.5)
                if plain:
                    arrows.append(fh.arrow_path((at(plain) - 8, y), (at(gated) + 9, y), 9, 3.4))
                for name in filter(None, (plain, gated)):
                    if panel == 0:
                        bars.append(self._bar(name))
                    label = f"{name} {table[name][2 * panel]:.3f}" if name == gated else f"{table[name][2 * panel]:.3f}"
                    self.labels[name, panel] = self.moves(self.text(at(name), y - 18, label, ha="center", zorder=4))
        self.patch(fh.joined(arrows), fh.SOFT, zorder=1)
        self.patch(fh.joined(bars), fh.INK, zorder=2)
        names = [(name, panel) for name in VARIANTS for panel in (0, 1)]
        half = lambda name: 56 if self._gated(name) else 24
        # These two stand still, but over what moves: no dashed line runs through a number or a ring.
        self.moves(self.patch(fh.joined([fh.rectangles(self._at(*at)[0] - half(at[0]), self._at(*at)[1] - 26, 2 * half(at[0]), 15)
                                         for at in names]), fh.ZERO, zorder=1.5))
        self.patch(fh.joined([fh.circle(*self._at(*at), 5.5) for at in names if self._gated(at[0])]), fh.INK, zorder=3)
        self.moves(self.patch(fh.joined([fh.circle(*self._at(*at), 5) for at in names if not self._gated(at[0])]), fh.ZERO, fh.INK, 2, zorder=3))
        self.patch(fh.circle(26, 536, 5), fh.ZERO, fh.INK, 2), self.text(38, 536, "no gate")
        self.patch(fh.circle(26, 558, 5.5), fh.INK), self.text(38, 558, "with a gate")
        self.patch(fh.arrow_path((PANELS[0] + 50, 536), (PANELS[0], 536), 9, 2), fh.INK)
        self.text(PANELS[0] + 58, 536, "better: log-perplexity on held-out text, in nats; both panels to one scale")
        self.text(PANELS[0], 558, "Shazeer 2020, Table 1. Equal budgets: d_ff 3,072 without a gate, 2,048 with one.", colour=fh.WEIGHT)

        self.borrowed = self.moves(self.patch(fh.EMPTY, "none", fh.INK, 2, linestyle=(0, (1.2, 1.2)), zorder=2))
        self.drops = self.moves(self.patch(fh.EMPTY, "none", fh.WEIGHT, 1, linestyle=(0, (5, 3)), zorder=1.2))
        self.rings = self.moves(self.patch(fh.EMPTY, "none", fh.INK, 2, zorder=3))
        self.brackets = self.moves(self.patch(fh.EMPTY, fh.INK, zorder=2))
        self.differences = [self.moves(self.text(0, BRACKET + 16, "", 12, "bold", ha="center", zorder=4)) for _ in PANELS]

    def _axis(self, left, low, span):
        axes = self.axis(left, AXIS - 10, WIDTH, 10, xlim=(low, low + span), ylim=(0, 1))
        axes.spines["left"].set_visible(False)
        axes.set_yticks([])
        ticks = np.arange(math.ceil(low / 0.02), math.floor((low + span) / 0.02) + 1) * 0.02
        axes.set_xticks(ticks, [f"{tick:.2f}" for tick in ticks])

    def _gated(self, name):
        return name in [row[2] for row in ROWS]

    def _at(self, name, panel):
        row = next(i for i, row in enumerate(ROWS) if name in row[1:])
        return self.place[panel](self.values["table"][name][2 * panel]), TOP + PITCH * row

    def _bar(self, name):
        """A variant's spread in the short runs as a thin bar with end caps."""
        x, y = self._at(name, 0)
        reach = self.place[0](self.values["table"][name][0] + self.values["table"][name][1]) - x
        return fh.joined([fh.rectangles(x - reach, y - 1, 2 * reach, 2), fh.rectangles([x - reach - 0.8, x + reach - 0.8], y - 6, 1.6, 12)])

    def _span(self, name):
        """The same spread at the long run, as lines to be dotted."""
        x, y = self._at(name, 1)
        reach = self.place[1](self.values["table"][name][2] + self.values["table"][name][1]) - x
        return fh.joined([Path([(x - reach, y), (x + reach, y)])] + [Path([(end, y - 6), (end, y + 6)]) for end in (x - reach, x + reach)])

    # ---- what moves
    def update(self):
        v = self.values
        table, first, second = v["table"], v["first"], v["second"]
        for (name, _), text in self.labels.items():
            text.set_fontweight("bold" if name in (first, second) else "normal")
        drops, brackets = [], []
        for panel, text in enumerate(self.differences):
            (a, row_a), (b, row_b) = self._at(first, panel), self._at(second, panel)
            drops += [Path([(x, y + 9), (x, BRACKET)]) for x, y in ((a, row_a), (b, row_b))]
            brackets += [fh.rectangles(min(a, b), BRACKET - 1.5, abs(a - b), 3), fh.rectangles([a - 1, b - 1], BRACKET - 5, 2, 10)]
            gap = table[second][2 * panel] - table[first][2 * panel]
            text.set_position(((a + b) / 2, BRACKET + 15))
            text.set_text(_signed(gap) if first != second else "")
        self.drops.set_path(fh.joined(drops) if first != second else fh.EMPTY)
        self.brackets.set_path(fh.joined(brackets) if first != second else fh.EMPTY)
        self.rings.set_path(fh.joined([fh.circle(*self._at(name, panel), 9) for name in {first, second} for panel in (0, 1)]))
        self.borrowed.set_path(fh.joined([self._span(name) for name in VARIANTS]) if v["borrow"] else fh.EMPTY)
        self.known.set_text("1 run; dotted: the spread of the short runs" if v["borrow"] else "1 run; its spread is not published")
        self._say(table, first, second)

    def _say(self, table, first, second):
        gap = table[second][2] - table[first][2]
        chance = math.hypot(table[first][1], table[second][1])       # how far two single runs differ by chance
        clear, kinds = abs(gap) >= 2 * chance, {self._gated(first), self._gated(second)}
        gated = [table[name][2] for name in VARIANTS if self._gated(name)]
        plain = [table[name][2] for name in VARIANTS if not self._gated(name)]
        what = "Among gates" if kinds == {True} else "Without a gate"
        if first == second:
            self.title = "Pick two variants to compare them"
            self.sentence = f"{first}: {table[first][0]:.3f} after 65,536 steps, {table[first][2]:.3f} after 524,288."
            self.alt = f"Dot plot of Shazeer’s Table 1, eight variants, five with a gate. {self.sentence}"
            return
        self.title = (f"{what} the choice {'matters here' if clear else 'hardly matters'}: {second} against {first}" if len(kinds) == 1 else
                      "Gating helps: all five gated variants end below all three ungated" if max(gated) < min(plain) else
                      f"{second} against {first}: with a gate against without")
        side = "level with" if gap == 0 else f"{abs(gap):.3f} nats {'below' if gap < 0 else 'above'}"
        percent = f"{math.expm1(gap) * 100:+.1f} %".replace("-", "−")
        self.sentence = (f"{second} ends {side} {first} ({percent} perplexity); by chance two short runs differ by ± {chance:.3f}.")
        self.alt = (f"Dot plot of Shazeer’s Table 1, eight variants, five with a gate. {second} {table[second][2]:.3f} against "
                    f"{first} {table[first][2]:.3f} nats after 524,288 steps; by chance short runs differ by ± {chance:.3f}.")


def _signed(value):
    return f"{value:+.3f}".replace("-", "−")


def default():
    """The picture as published: the table's numbers."""
    return Shazeer({"ReLU": (1.997, 0.005, 1.677), "GELU": (1.983, 0.005, 1.679), "SiLU": (1.994, 0.003, 1.683),
                    "GLU": (1.982, 0.006, 1.663), "Bilinear": (1.960, 0.005, 1.648), "ReGLU": (1.953, 0.003, 1.645),
                    "GEGLU": (1.942, 0.004, 1.633), "SwiGLU": (1.944, 0.010, 1.636)})
