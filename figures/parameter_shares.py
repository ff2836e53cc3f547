"""Which share of a model's parameters stands in its FFNs: real models, in groups that say why."""
import numpy as np

import ffn_helpers as fh
import model_costs

BAND = 70, 85                                       # what the document says, in percent
READINGS = {"model": "whole model", "block": "attention + FFN", "active": "used by one token"}
GROUPS = {"plain": ("two matrices (ungated)", "each head its own keys"),
          "gated": ("three matrices (gated)", "each head its own keys"),
          "grouped": ("three matrices (gated)", "heads share keys"),
          "experts": ("gated, many experts", "heads share keys")}
LEFT, RIGHT, LOW, HIGH = 414, 868, 30, 100          # the axis in pixels and in percent
NAME, TOP, ROW, GAP = 382, 138, 22, 14


class ParameterShares(fh.Picture):
    """shares: a list of model_costs.Share (1 to 18, percent); reading: "model", "block" or "active", the one that is counted."""
    size = 900, 664

    def check(self, shares: fh.SEVERAL, reading: str = "model"):
        if reading not in READINGS:
            raise ValueError(f"reading {fh.brief(reading)} is not known; known are {', '.join(READINGS)}")
        shares = list(shares)
        if not 1 <= len(shares) <= 18 or not all(isinstance(share, model_costs.Share) for share in shares):
            raise ValueError(f"shares has {len(shares)} entries, expected 1 to 18 of model_costs.Share")
        for share in shares:
            numbers = fh.checked(f"shares of {share.name}", [share.model, share.block, share.active])
            if share.kind not in GROUPS or numbers.min() < LOW or numbers.max() > HIGH:
                raise ValueError(f"{share.name}: expected {LOW} to {HIGH} % and one of {', '.join(GROUPS)}, got {fh.vec(numbers)} and {share.kind!r}")
        return dict(shares=shares, reading=reading)

    def build(self):
        order = [share for kind in GROUPS for share in sorted(self.values["shares"], key=lambda s: s.model) if share.kind == kind]
        self.rows, y, before = [], TOP, None
        for share in order:
            y += GAP * (before is not None and share.kind != before)
            if share.kind != before:
                for line, text in enumerate(GROUPS[share.kind]):
                    self.text(20, y + 17 * line, text, 10.5, "bold" if line == 0 else "normal")
            self.rows.append((share, y))
            y, before = y + ROW, share.kind
        bottom = y - ROW / 2
        self.rectangle(_x(BAND[0]), TOP - 24, _x(BAND[1]) - _x(BAND[0]), bottom - TOP + 24, fh.tint(fh.INK, 0.13), zorder=0.2)
        self.text((_x(BAND[0]) + _x(BAND[1])) / 2, TOP - 38, "the document: 70–85 %", 11, "bold", ha="center")
        for tick in range(LOW, HIGH + 1, 10):
            self.line([_x(tick)] * 2, [TOP - 14, bottom], fh.tint(fh.SOFT, 0.6), 1, zorder=0.3)
            self.text(_x(tick), bottom + 14, f"{tick} %", ha="center")
        paths = {"line": [], "dot": [], "ring": [], "tick": [], "used": []}
        for share, y in self.rows:
            whole, block, used = _x(share.model), _x(share.block), _x(share.active)
            paths["line"].append(fh.rectangles(min(whole, block), y - 0.8, abs(block - whole), 1.6))
            paths["tick"].append(fh.rectangles(block - 1.6, y - 8, 3.2, 16))
            paths["ring" if share.kind == "plain" else "dot"].append(fh.circle(whole, y, 5.5))
            paths["used"].append(_diamond(used, y, 6.5) if share.kind == "experts" else None)
        for name, fill, edge, width in [("line", fh.WEIGHT, "none", 0), ("tick", fh.INK, "none", 0), ("used", fh.ZERO, fh.INK, 1.6),
                                        ("dot", fh.INK, fh.INK, 1.6), ("ring", fh.ZERO, fh.INK, 1.6)]:
            self.patch(fh.joined(paths[name]), fill, edge, width, zorder=2)
        self.names = [self.moves(self.text(NAME, y, "", ha="right")) for _, y in self.rows]
        self.numbers = [self.moves(self.text(0, y, "", zorder=4)) for _, y in self.rows]
        self.halos = self.moves(self.patch(fh.EMPTY, "none", fh.INK, 1.4, zorder=3))
        y = bottom + 48
        for x, path, fill, text in [(20, fh.circle(28, y, 5.5), fh.ZERO, "whole model, ungated"), (216, fh.circle(224, y, 5.5), fh.INK, "whole model, gated"),
                                    (396, fh.rectangles(402, y - 8, 3.2, 16), fh.INK, "attention + FFN only"), (582, _diamond(590, y, 6.5), fh.ZERO, "used by one token, where it differs")]:
            self.patch(path, fill, fh.INK if fill == fh.ZERO else "none", 1.6)
            self.text(x + 20, y, text)
        self.text(20, y + 24, "Line: mostly embeddings. †: a size or the vocabulary is second-hand, from memory or approximate.", colour=fh.WEIGHT)

    def update(self):
        reading = self.values["reading"]
        values = [getattr(share, reading) for share, _ in self.rows]
        inside = [BAND[0] <= value <= BAND[1] for value in values]
        halos = []
        for (share, y), value, hit, name, number in zip(self.rows, values, inside, self.names, self.numbers):
            x, weight = _x(value), "bold" if hit else "normal"
            name.set(text=share.name.removesuffix(" v0.1").removesuffix(" v1.0") + (" †" if share.second_hand else ""), fontweight=weight)
            spots = [_x(s) for s in (share.model, share.block, share.active)]
            left = x - min(spots) < 1 or x - max(s for s in spots if s < x - 1) > 40
            after = max(spots) - x < 1 and not left
            before = left or not after
            number.set(text=f"{value:.0f}", x=_clear(x - (15 if hit else 12), 19.6 if hit else 17.5) if before else x + 10,
                       ha="right" if before else "left", fontweight=weight)
            halos += [fh.circle(x, y, 9.5)] if hit else []
        self.halos.set_path(fh.joined(halos))
        count, total, low, high = sum(inside), len(values), min(values), max(values)
        what = {"model": "of all their parameters", "block": "of attention + FFN", "active": "of what one token uses"}[reading]
        own = [hit for (share, _), hit in zip(self.rows, inside) if share.kind in ("plain", "gated")]
        self.title = f"{count} of {total} model{'s' * (total != 1)} hold{'s' * (count == 1)} 70–85 % {what} in the FFN"
        self.sentence = (f"The range is {low:.0f} % to {high:.0f} %. Of the {len(own)} model{'s' * (len(own) != 1)} whose heads all have keys of their own, "
                         f"{sum(own) or 'none'} {'fall' if sum(own) > 1 else 'falls'} in the band.")
        self.alt = (f"Dot plot for {total} model{'s' * (total != 1)} in four groups: the FFN’s share {what.replace('their', 'the')}, {low:.0f} % to {high:.0f} %. {count} {'lies' if count == 1 else 'lie'} between 70 and 85 %, "
                    f"{sum(own) or 'none'} of them with own keys in every head.")


def _x(percent):
    return LEFT + (RIGHT - LEFT) * (np.asarray(percent, float) - LOW) / (HIGH - LOW)


def _clear(right, width):
    """Where a number that ends at `right` stands free of the axis' lines: a small nudge right if that does, else left of the line."""
    for line in (_x(percent) for percent in range(LOW, HIGH, 10)):
        if right - width - 1.5 < line < right + 3:
            nudge = line + 1.5 - right + width
            return right + nudge if nudge <= 4.5 else line - 3
    return right


def _diamond(x, y, r):
    return fh.closed([(x - r, y), (x, y - r), (x + r, y), (x, y + r)])


def default():
    """The picture as published: every row of models.csv, shares of the whole stored model."""
    return ParameterShares(shares=model_costs.shares())
