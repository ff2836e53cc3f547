"""Error against width for teachers of different width: where the gain ends is the teacher's doing."""
import numpy as np
import torch
from matplotlib.path import Path

import ffn_helpers as fh
import model_costs

LEFT, TOP, HEIGHT, GAP, RIGHT = 70, 134, 220, 26, 900


class WidthFit(fh.Picture):
    """d_ff / d_model `ratios` (k,), `teachers` (t,) widths; `own` and `random` (t, k, seeds) hold relative errors.

    own     the student's W1 is a piece of the teacher's      random   the student's W1 is drawn at random
    """
    size = 920, 470

    def check(self, ratios, teachers, own, random, d_model):
        ratios, teachers = fh.checked("ratios", ratios, ("k",)), fh.checked("teachers", teachers, ("t",))
        if not 1 <= len(teachers) <= 4 or len(ratios) < 2 or (np.diff(ratios) <= 0).any() or ratios[0] <= 0:
            raise ValueError(f"teachers has shape {teachers.shape}, expected (1 to 4,); ratios with shape {ratios.shape} should rise from above 0")
        shape = (len(teachers), len(ratios), "seeds")
        return dict(ratios=ratios, teachers=teachers, own=fh.checked("own", own, shape), random=fh.checked("random", random, shape),
                    d_model=model_costs.whole("d_model", d_model))

    def build(self):
        ratios = self.values["ratios"]
        room = max(len(self.values["teachers"]), 3)                # one or two panels stay as narrow as three
        width = (RIGHT - LEFT - GAP * (room - 1)) / room
        self.across = lambda panel, ratio: LEFT + panel * (width + GAP) + width * (0.05 + 0.91 * np.log(ratio / ratios[0]) / np.log(ratios[-1] / ratios[0]))
        self.up = lambda error: TOP + HEIGHT * (1 - error)
        for panel, teacher in enumerate(self.values["teachers"]):
            left = LEFT + panel * (width + GAP)
            self.line([left, left, left + width], [TOP, TOP + HEIGHT, TOP + HEIGHT])
            for error in (0, 0.5, 1):
                self.line([left - 4, left], [self.up(error)] * 2)
                if panel == 0:
                    self.text(left - 9, self.up(error), fh.num(error), ha="right")
            for ratio in ratios:
                self.line([self.across(panel, ratio)] * 2, [TOP + HEIGHT, TOP + HEIGHT + 4])
                self.text(self.across(panel, ratio), TOP + HEIGHT + 15, fh.num(ratio), ha="center")
        self.text(20, TOP - 48, "share of the target missed, on new inputs (1: all of it)", 11)
        self.text(LEFT, TOP + HEIGHT + 40, f"student’s d_ff / d_model (d = d_model = {self.values['d_model']})", 11)
        for x, words, fill, look in [(486, "piece of the teacher’s W1", fh.INK, dict(colour=fh.INK, width=1.6)),
                                     (736, "random W1", fh.ZERO, dict(colour=fh.WEIGHT, width=1.4, linestyle=(0, (4, 3))))]:
            self.line([x, x + 36], [TOP - 48] * 2, zorder=1, **look)
            self.patch(fh.circle(x + 18, TOP - 48, 5), fill, fh.INK, 1.3, zorder=3)
            self.text(x + 44, TOP - 48, words, 11)
        self.text(LEFT, TOP + HEIGHT + 70, "Dots: median of the seeds, bars: lowest to highest. W2 and b2 are solved exactly in every student.", colour=fh.WEIGHT)
        patch = lambda *args, **more: self.moves(self.patch(fh.EMPTY, *args, **more))
        self.lines = patch("none", fh.INK, 1.6), patch("none", fh.WEIGHT, 1.4, linestyle=(0, (4, 3)))
        self.ranges = patch(fh.WEIGHT, zorder=2)
        self.dots = patch(fh.INK, zorder=3), patch(fh.ZERO, fh.INK, 1.3, zorder=3)
        self.heads = [self.moves(self.text(LEFT + p * (width + GAP), TOP - 22, "", 12, "bold")) for p in range(len(self.values["teachers"]))]

    def update(self):
        v, sets = self.values, (self.values["own"], self.values["random"])
        medians = [np.median(data, 2) for data in sets]
        panels = range(len(v["teachers"]))
        for line, dots, middle, size in zip(self.lines, self.dots, medians, (5, 4.2)):
            points = [np.column_stack([self.across(p, v["ratios"]), self.up(middle[p])]) for p in panels]
            line.set_path(fh.joined([Path(row) for row in points]))
            dots.set_path(fh.joined([fh.circle(*at, size) for row in points for at in row]))
        self.ranges.set_path(fh.joined([
            fh.rectangles(self.across(p, v["ratios"]) - 1, self.up(data[p].min(1)), 2, self.up(data[p].max(1)) - self.up(data[p].min(1)))
            for data in sets for p in panels]))
        for head, teacher in zip(self.heads, v["teachers"]):
            head.set_text(f"teacher: {fh.num(teacher)} ({fh.num(teacher / v['d_model'])} d)")
        exact = [next((fh.num(r) for r, e in zip(v["ratios"], row) if e.max() < 1e-9), None) for row in v["own"]]
        said = ", ".join(f"{fh.num(t)} " + (f"at ratio {e}" if e else "nowhere") for t, e in zip(v["teachers"], exact))
        falls = all((np.diff(middle, axis=1) <= 1e-9).all() for middle in medians)
        self.title = ("More width never hurts here; " if falls else "More width does not always help; ") + "where the gain ends, the teacher decides"
        self.sentence = f"With the teacher’s own W1 the error reaches 0 for {said}."
        left = medians[1][:, -1]
        self.alt = (f"Error against width, {len(v['teachers'])} teachers. With their own W1 it reaches 0: {said}. "
                    f"With random W1 {fh.num(left.min())} to {fh.num(left.max())} is left at ratio {fh.num(v['ratios'][-1])}.")


def _measure(d=16, teachers=(16, 64, 512), ratios=(0.25, 0.5, 1, 2, 4, 8), seeds=5, tokens=400):
    """The two error tables, as notebook 03 computes them: least squares on half of the tokens, error on the rest."""
    def missed(h, y):
        h, y = torch.as_tensor(np.column_stack([h, np.ones(len(h))])), torch.as_tensor(y)
        rest = y[tokens:] - h[tokens:] @ torch.linalg.lstsq(h[:tokens], y[:tokens], driver="gelsd").solution
        return ((rest ** 2).sum() / ((y[tokens:] - y[tokens:].mean(0)) ** 2).sum()).item()
    own, random = np.zeros((2, len(teachers), len(ratios), seeds))
    for seed in range(seeds):
        draw, most = np.random.default_rng(seed), int(max(ratios) * d)
        x = draw.normal(size=(2 * tokens, d))
        layer = lambda n: np.maximum(x @ draw.normal(size=(d, n)) / d ** 0.5 + 0.5 * draw.normal(size=n), 0)
        blind = layer(most)
        for t, width in enumerate(teachers):
            h = layer(width)
            y = h @ draw.normal(size=(width, d)) / width ** 0.5
            for k, ratio in enumerate(ratios):
                own[t, k, seed], random[t, k, seed] = missed(h[:, :int(ratio * d)], y), missed(blind[:, :int(ratio * d)], y)
    return dict(ratios=ratios, teachers=teachers, own=own, random=random, d_model=d)


def default():
    """Three teachers, d_model = 16, five seeds."""
    return WidthFit(**_measure())
