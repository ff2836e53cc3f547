"""Close inputs share most of their on/off pattern: differing units against the angle between inputs."""
import numpy as np

import ffn_helpers as fh
import model_costs

BOX = 76, 110, 640, 270                                     # left, top, width, height in pixels


class PatternAngle(fh.Picture):
    """angle (n,) in degrees, 0 to 180; differing (n,) the share of units that differ, 0 to 1; d_ff units each."""
    size = 920, 442

    def check(self, angle, differing, d_ff):
        angle = fh.checked("angle", angle, ("n",), 180)
        return dict(angle=angle, differing=fh.checked("differing", differing, angle.shape, 1),
                    d_ff=model_costs.whole("d_ff", d_ff))

    def build(self):
        axes = self.axis(*BOX, xlim=(-4, 184), ylim=(-2, 102))
        axes.set_xticks([0, 45, 90, 135, 180], ["0°", "45°", "90°", "135°", "180°"])
        axes.set_yticks([0, 50, 100], ["0 %", "50 %", "100 %"])
        self.text(BOX[0] + BOX[2] / 2, BOX[1] + BOX[3] + 36, "angle between two inputs", 11, ha="center")
        self.text(20, BOX[1] - 18, "share of units that are on for one of the two inputs only", 11)
        self.text(BOX[0] + BOX[2] + 14, BOX[1] + 14, "all units differ", 11)
        self.text(BOX[0] + BOX[2] + 14, BOX[1] + BOX[3] / 2, "half of them", 11)
        self.text(BOX[0] + BOX[2] + 14, BOX[1] + BOX[3] - 6, "same pattern", 11)
        axes.plot([0, 180], [0, 100], color=fh.HIDDEN, linewidth=6, zorder=1)
        axes.plot([0, 180], [0, 100], color=fh.INK, linewidth=1, zorder=1.1)
        self.dots = self.moves(axes.plot([], [], linestyle="none", marker="o", markersize=5, zorder=3,
                                         color=fh.WEIGHT, markeredgecolor=fh.ZERO, markeredgewidth=0.6)[0])

    def update(self):
        v = self.values
        off = np.abs(v["differing"] - v["angle"] / 180).max()
        self.dots.set_data(v["angle"], 100 * v["differing"])
        self.title = "The wider the angle between two inputs, the more units switch: angle / 180°"
        self.sentence = (f"{len(v['angle'])} pairs through {v['d_ff']:,} random units without offsets: "
                         f"no pair is more than {fh.num(100 * off, 1)} points off the line.")
        self.alt = (f"Share of units that differ between two inputs against their angle: {len(v['angle'])} pairs lie along "
                    f"the line angle / 180°, at most {fh.num(100 * off, 1)} points off it.")


def default():
    """Pairs of random directions in 16 dimensions at chosen angles, through 2,048 random units."""
    rng = np.random.default_rng(0)
    W1, angle = rng.normal(size=(16, 2048)), np.linspace(0, 180, 91)
    a, b = np.linalg.qr(rng.normal(size=(91, 16, 2)))[0].transpose(2, 0, 1)
    turned = np.cos(np.radians(angle))[:, None] * a + np.sin(np.radians(angle))[:, None] * b
    return PatternAngle(angle=angle, differing=((a @ W1 > 0) != (turned @ W1 > 0)).mean(1), d_ff=2048)
