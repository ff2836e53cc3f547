"""One unit of four gates: its product over the plane of z and value, in bands.

Orange with full edges and a plus is positive, blue with dashed edges and a minus is negative.
Bands begin at |h| = 0.25, 1, 2 and 4, so white is where nearly nothing passes.
"""
import numpy as np

import ffn_helpers as fh

GATES = {"relu": "ReGLU", "gelu": "GEGLU", "silu": "SwiGLU", "identity": "Bilinear"}
LEFT, STEP, TOP, SIDE = 62, 234, 134, 204             # first panel, step to the next, upper edge, side
REACH, LEVELS = 3.0, (0.25, 1, 2, 4)                  # both axes from -3 to 3
AMOUNTS = 0.16, 0.34, 0.55, 0.76                      # tint of each band; a sign must be read on the darkest


class GateSurfaces(fh.Picture):
    """gate(z) · value for four gates, over z and value from -3 to 3; `z` and `value` move the point."""
    size = 1000, 424

    def check(self, z=-1.0, value=2.0):
        return dict(z=float(fh.checked("z", z, (), limit=REACH)), value=float(fh.checked("value", value, (), limit=REACH)))

    # ---- what stays
    def build(self):
        z = np.linspace(-REACH, REACH, 241)
        self.readings, self.points = [], []
        for panel, (gate, name) in enumerate(GATES.items()):
            x = LEFT + STEP * panel
            axes = self.axis(x, TOP, SIDE, SIDE, xlim=(-REACH, REACH), ylim=(-REACH, REACH))
            axes.set_xticks([-3, 0, 3], ["−3", "0", "3"])
            axes.set_yticks([-3, 0, 3], ["−3", "0", "3"] if panel == 0 else ["", "", ""])
            g = fh.activate(z, gate)
            for sign, colour, dashes in [(1, fh.POSITIVE, "-"), (-1, fh.NEGATIVE, (0, (4, 2)))]:
                for level, amount in zip(LEVELS, AMOUNTS):
                    self.patch(_beyond(z, sign * g, level), fh.tint(colour, amount), fh.tint(fh.INK, 0.75), 0.8, axes=axes, linestyle=dashes, zorder=0.6)
            axes.axhline(0, color=fh.SOFT, linewidth=1, zorder=0.7), axes.axvline(0, color=fh.SOFT, linewidth=1, zorder=0.7)
            for at_z in (2.35, max(z[g.argmin()], -2.35)):        # a sign in each tinted corner, on the left where the gate is lowest
                for at_value in (2.6, -2.6):
                    h = float(fh.activate(np.array(at_z), gate)) * at_value
                    if abs(h) > LEVELS[0]:
                        self.text(*_page(panel, at_z, at_value), "+" if h > 0 else "−", 14, "bold", ha="center")
            self.text(x, TOP - 42, name, 12, "bold")
            self.text(x + SIDE, TOP - 42, "gate = z" if gate == "identity" else f"gate ≥ {fh.num(g.min())}", ha="right", colour=fh.WEIGHT)
            self.text(x + SIDE * 0.75, TOP + SIDE + 16, "z", 11, ha="center")
            self.readings.append(self.moves(self.text(x, TOP - 18, "", 11)))
            self.points.append(self.moves(self.patch(fh.EMPTY, fh.ZERO, fh.INK, 2.2, zorder=5)))
        self.text(LEFT - 10, TOP + SIDE * 0.25, "value", 11, ha="right")
        self.text(20, TOP + SIDE + 48, "Bands begin at |h| = 0.25, 1, 2 and 4; white is below 0.25. Full edge and +: positive; dashed edge and −: negative.", colour=fh.WEIGHT)
        self.text(20, TOP + SIDE + 70, "h = gate(z) × value, one hidden unit.", colour=fh.WEIGHT)

    # ---- what moves
    def update(self):
        z, value = self.values["z"], self.values["value"]
        h = {name: float(fh.activate(np.array(z), gate)) * value for gate, name in GATES.items()}
        for panel, (name, text, point) in enumerate(zip(h, self.readings, self.points)):
            text.set_text(f"h = {fh.num(h[name])}")
            point.set_path(fh.circle(*_page(panel, z, value), 6))
        listed = ", ".join(f"{name} {fh.num(number)}" for name, number in h.items())
        self.title = ("At z = 0 all four gates pass nothing" if z == 0 else
                      "At value 0 nothing passes" if value == 0 else
                      "Left of z = 0 ReGLU shuts, GEGLU and SwiGLU leak, the bilinear gate mirrors" if z < 0 else
                      "Right of z = 0 the four gates pass nearly the same" if max(map(abs, h.values())) - min(map(abs, h.values())) < 0.25 else
                      "Right of z = 0 the smooth gates pass a little less")
        self.sentence = f"At z = {fh.num(z, 4)} and value {fh.num(value, 4)} the unit holds: {listed}."
        self.alt = (f"Four panels of gate(z) times value in bands. At z = {fh.num(z, 4)} and value {fh.num(value, 4)}: {listed}. "
                    "Left of 0 ReGLU is 0; the bilinear panel is its right half with the sign flipped.")


def _page(panel, z, value):
    """A point of a panel in page pixels."""
    return LEFT + STEP * panel + SIDE * (z + REACH) / (2 * REACH), TOP + SIDE * (REACH - value) / (2 * REACH)


def _beyond(z, g, level):
    """Where g(z) · value is at least `level`: bounded by value = level / g(z) and the panel's edge."""
    pieces = []
    for side in (1, -1):                                      # value above 0 where g is positive, below where negative
        inside = side * g * REACH >= level
        if inside.sum() > 1:
            bound = level / g[inside]
            pieces.append(fh.closed(np.r_[np.c_[z[inside], bound], [[z[inside][-1], side * REACH], [z[inside][0], side * REACH]]]))
    return fh.joined(pieces)


def default():
    """The picture as published."""
    return GateSurfaces()
