"""The documents' table of activations: what it states (grey), and what was counted, published or checked.

A number marks an entry that does not hold, with its correction below; a bracket joins two entries
that one correction is about.
"""
from matplotlib.path import Path

import ffn_helpers as fh

ROW, FIRST, NAME = 66, 152, 20                       # height of a row, top of the first, left edge of the names
STATED = {"cost": (100, 92), "power": (276, 116), "stability": (568, 92), "use": (666, 190)}      # left, width
COUNTED, DOTS, FOUND, EDGE = 206, (420, 536), 872, 980
COLUMNS = "cost", "power", "stability", "use"


class ActivationTable(fh.Picture):
    """What is stated and what was found, by activation; `row` is one name or "all".

    stated       {name: (cost, power, stability, use)}, a line break in a text starts a second line
    matrices     {name: how many weight matrices}, more than 2 means gated
    published    {name: log-perplexity}
    found        {name: who uses it}
    corrections  [(column, names, wrong words, what holds)], column one of cost, power, stability, use
    """
    size = 1000, 666

    def check(self, stated: dict, matrices: dict, published: dict, found: dict, corrections: fh.SEVERAL, row: str = "all"):
        names = list(stated)
        texts = lambda row: isinstance(row, fh.SEVERAL) and all(isinstance(text, str) for text in row)
        if len(names) != 5 or not all(texts(stated[name]) and len(stated[name]) == 4 for name in names):
            raise ValueError(f"stated must hold 5 activations with 4 texts each, got {len(names)}")
        for what, given in [("matrices", matrices), ("published", published), ("found", found)]:
            if set(given) != set(names):
                raise ValueError(f"{what} must be given for {', '.join(names)}, got {', '.join(map(str, given))}")
        published = {name: float(fh.checked("published", published[name], ())) for name in names}
        if not texts(list(found.values())):
            raise TypeError("found must hold texts")
        values = fh.checked("published", list(published.values()), (5,))
        fh.checked("matrices", [matrices[name] for name in names], (5,), limit=3)
        if values.min() <= 0:
            raise ValueError(f"published must be positive, got {fh.num(values.min())}")
        if not all(isinstance(c, fh.SEVERAL) and len(c) == 4 and texts([c[0], *c[2:]]) and isinstance(c[1], fh.SEVERAL) and texts(c[1]) for c in corrections):
            raise TypeError("corrections must be (column, names, wrong words, what holds) each")
        if len(corrections) > 6 or any(c[0] not in COLUMNS or not set(c[1]) <= set(names) for c in corrections):
            raise ValueError(f"corrections must be at most 6, of {', '.join(COLUMNS)} and of {', '.join(names)}")
        if row not in ("all", *names):
            raise ValueError(f"row is {fh.brief(row)}, expected all or one of {', '.join(names)}")
        return dict(stated=stated, matrices=matrices, published=published, found=found, corrections=corrections, row=row)

    # ---- what stays
    def build(self):
        v, names, self.lines = self.values, list(self.values["stated"]), {}
        bottom = FIRST + ROW * len(names)
        for left, width in STATED.values():
            self.rectangle(left, FIRST - 30, width, bottom - FIRST + 30, fh.tint(fh.CUT, 0.45))
        for x, words in [(STATED["cost"][0], "Cost"), (STATED["power"][0], "Expressive power"),
                         (STATED["stability"][0], "Stability"), (STATED["use"][0], "Used in")]:
            self.text(x + 8, FIRST - 46, words, 12, "bold")
        for left, _ in STATED.values():
            self.text(left + 8, FIRST - 15, "stated", colour=fh.WEIGHT)
        for x, words in [(COUNTED, "matrices"), (DOTS[0] - 10, "log-perplexity"), (FOUND, "checked")]:
            self.text(x, FIRST - 15, words, colour=fh.WEIGHT)
        self.text(DOTS[1] + 16, FIRST - 46, "better", ha="right")
        self.patch(fh.arrow_path((DOTS[1] - 34, FIRST - 46), (DOTS[1] - 66, FIRST - 46)), fh.INK)
        values = [v["published"][name] for name in names]
        low, high = min(values), max(values)
        self.at = lambda value: DOTS[0] + (DOTS[1] - DOTS[0]) * (value - low) / (high - low or 1)
        self.line([self.at(values[0])] * 2, [FIRST, bottom], fh.WEIGHT, 1, dashes=(3, 3), zorder=1)
        self.line([NAME, EDGE], [FIRST] * 2, fh.SOFT, 1)
        self.line([NAME, EDGE], [bottom] * 2, fh.SOFT, 1)
        for i, name in enumerate(names):
            self._row(name, FIRST + ROW * (i + 0.5))
            if i:
                self.line([NAME, EDGE], [FIRST + ROW * i] * 2, fh.SOFT, 1)
        self._marks(names)
        for k, (_, _, _, holds) in enumerate(v["corrections"]):
            y = bottom + 26 + 24 * k
            self._badge(k, NAME + 10, y)
        self.notes = [self.moves(self.text(NAME + 30, bottom + 26 + 24 * k, holds, 11))
                      for k, (*_, holds) in enumerate(v["corrections"])]
        self.text(NAME, 634, "○ no gate   ● gated   Dashed: plain ReLU.   For stability no test is given.", colour=fh.WEIGHT)
        self.text(NAME, 652, "Log-perplexity after 524,288 steps, one run each: Shazeer 2020, Table 1. Lower is better.", colour=fh.WEIGHT)
        self.picked = self.moves(self.patch(fh.EMPTY, fh.INK))

    def _row(self, name, y):
        v = self.values
        self.text(NAME, y, name, 12, "bold")
        for column, (left, _), words in zip(COLUMNS, STATED.values(), v["stated"][name]):
            self.lines[column, name] = self._lines(left + 8, y, words)
        self._lines(FOUND, y, v["found"][name])
        count = int(v["matrices"][name])
        self.patch(fh.rectangles(COUNTED, [y - 6 * count + 12 * k + 1 for k in range(count)], 30, 9), fh.WEIGHT)
        self.text(COUNTED + 40, y, str(count), 11, "bold")
        x, gated = self.at(v["published"][name]), count > 2
        self.rectangle(x - 24, y - 27, 48, 16, fh.ZERO, zorder=1.5)
        self.patch(fh.circle(x, y + 4, 7), fh.INK if gated else fh.ZERO, fh.INK, 2, zorder=2)
        self.text(x, y - 17, f"{v['published'][name]:.3f}", 11, ha="center", zorder=3)

    def _lines(self, x, y, words):
        lines = words.split("\n")
        return [self.text(x, y + 19 * (k - (len(lines) - 1) / 2), line, 11) for k, line in enumerate(lines)]

    def _marks(self, names):
        """Numbers beside entries, lines through wrong words, brackets over two rows."""
        for k, (column, rows, wrong, _) in enumerate(self.values["corrections"]):
            left, width = STATED[column]
            right, middle = left + width - 5, [FIRST + ROW * (names.index(name) + 0.5) for name in rows]
            for name in rows:
                for line in self.lines[column, name]:
                    if line.get_text() == wrong:
                        wide = line.get_window_extent(self.figure.canvas.get_renderer()).width
                        self.line([left + 7, left + 10 + wide], [line.get_position()[1]] * 2, fh.INK, 1.6)
            if len(rows) > 1:
                self.patch(Path([(right - 8, middle[0] - 22), (right, middle[0] - 22), (right, middle[-1] + 22),
                                 (right - 8, middle[-1] + 22)]), edge=fh.INK, width=1.8, zorder=2)
            self._badge(k, right, sum(middle) / len(middle))

    def _badge(self, k, x, y):
        self.patch(fh.circle(x, y, 10), fh.INK, fh.ZERO, 1.5, zorder=3)
        self.text(x, y, str(k + 1), 10.5, "bold", fh.ZERO, ha="center", zorder=4)

    # ---- what moves
    def update(self):
        v = self.values
        row, names = v["row"], list(v["stated"])
        about = [row == "all" or row in rows for _, rows, _, _ in v["corrections"]]
        for note, shown in zip(self.notes, about):
            note.set_color(fh.INK if shown else fh.WEIGHT)
            note.set_fontweight("bold" if shown and row != "all" else "normal")
        top = FIRST + ROW * names.index(row) if row != "all" else 0
        self.picked.set_path(fh.EMPTY if row == "all" else fh.rectangles([NAME - 13, EDGE + 6], top + 4, 7, ROW - 8))
        count = len(v["corrections"])
        self.title = f"{_word(count)} claims of the documents’ activation table need correction"
        first = names[0]
        self.sentence = ("Grey: what the documents state. White: what was counted, published or checked." if row == "all" else
                         f"{row}: {int(v['matrices'][row])} matrices, log-perplexity {v['published'][row]:.3f}"
                         + ("" if row == first else f", {abs(v['published'][row] - v['published'][first]):.3f} "
                            f"{'above' if v['published'][row] > v['published'][first] else 'below'} {first}’s") + "; "
                         + (f"{sum(about)} correction{'s' * (sum(about) > 1)}: {', '.join(str(k + 1) for k, a in enumerate(about) if a)}."
                            if any(about) else "nothing to correct."))
        self.alt = (f"Table of {', '.join(names)}: cost, power, stability and use as stated, beside matrices, published "
                    f"log-perplexity and users. {count} claims corrected. "
                    + (f"Best {min(v['published'].values()):.3f}." if row == "all" else f"Picked: {row}, {v['published'][row]:.3f}."))


def _word(count):
    return ("No", "One", "Two", "Three", "Four", "Five", "Six")[count]


def default():
    """The table of the documents, with Shazeer's Table 1 (2020) and five corrections."""
    names = "ReLU", "GELU", "SiLU", "SwiGLU", "GEGLU"
    by_name = lambda values: dict(zip(names, values))
    stated = by_name([("very low", "average", "average,\ndead units", "early Transformer,\noriginal BERT"),
                      ("medium", "fairly good", "good", "GPT, improved BERT,\ngeneral LLMs"),
                      ("medium", "fairly good", "good", "LLaMA series,\nsome open models"),
                      ("fairly high", "best", "good", "LLaMA 2/3, PaLM,\nmainstream today"),
                      ("fairly high", "very good", "good", "some LLM variants")])
    corrections = [("use", ["ReLU"], "original BERT", "BERT has used GELU from its first release (Devlin et al. 2019, appendix A.2)."),
                   ("use", ["GELU"], "general LLMs", "Most open LLMs since 2023 gate with SiLU; plain GELU was usual from 2018 to 2022."),
                   ("use", ["SiLU", "SwiGLU"], "", "One and the same layer: SiLU is the activation of the gate inside SwiGLU."),
                   ("power", ["GELU", "SiLU"], "", "Without a gate neither is below ReLU: 1.679 and 1.683 against 1.677."),
                   ("power", ["SwiGLU", "GEGLU"], "", "GEGLU 1.633, SwiGLU 1.636: no real difference, and the other way round.")]
    return ActivationTable(
        stated=stated, matrices=by_name([2, 2, 2, 3, 3]), published=by_name([1.677, 1.679, 1.683, 1.636, 1.633]),
        found=by_name(["Transformer,\nT5 v1.0", "BERT, GPT-2", "alone: none\nof these", "LLaMA 1–3,\nPaLM, Mistral", "Gemma,\nT5 v1.1"]),
        corrections=corrections)
