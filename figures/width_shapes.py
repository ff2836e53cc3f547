"""Three shapes of width: expand and contract, its opposite the bottleneck, and a stream that never narrows."""
import ffn_helpers as fh

TOP, HEIGHT, SIDE, MIDDLES, REACH = 128, 40, 30, (170, 460, 740), 240      # REACH pixels for the widest layer
BAR_X, BAR_Y, BAR_WIDTH = 260, 386, 500


class WidthShapes(fh.Picture):
    """d_model and d_ff of an FFN; `outer` and `inner` widths of a bottleneck block for contrast."""
    size = 900, 460

    def check(self, d_model=512, d_ff=2048, outer=256, inner=64):
        values = dict(d_model=d_model, d_ff=d_ff, outer=outer, inner=inner)
        for name, value in values.items():
            values[name] = int(fh.checked(name, value, (), limit=2 ** 20))
            if values[name] < 1:
                raise ValueError(f"{name} is {values[name]}, expected a whole number from 1")
        return values

    def build(self):
        self.text(20, BAR_Y - 34, "Weights of one layer, attention 4 × width² and an FFN of four times the width 8 × width²", 11, "bold")
        shape = lambda fill, **more: self.moves(self.patch(fh.EMPTY, fill, **more))
        self.trapezoids, self.bars = shape(fh.WEIGHT), shape(fh.WEIGHT)
        self.narrow, self.wide = shape(fh.ZERO, edge=fh.INK, width=1.4, zorder=2), shape(fh.tint(fh.HIDDEN, 0.6), edge=fh.INK, width=1.4, zorder=2)
        self.labels = [self.moves(self.text(x, TOP - 30, "", 12, "bold", ha="center")) for x in MIDDLES]
        self.sizes = [[self.moves(self.text(x, TOP + step * (HEIGHT + SIDE) + SIDE / 2, "", 11, ha="center", zorder=3)) for step in range(3)]
                      for x in MIDDLES]
        self.names = [self.moves(self.text(BAR_X - 10, BAR_Y + 40 * i, "", 11, ha="right")) for i in range(2)]
        self.costs = [self.moves(self.text(0, BAR_Y + 40 * i, "", 11)) for i in range(2)]

    def update(self):
        d, ff, outer, inner = (self.values[k] for k in ("d_model", "d_ff", "outer", "inner"))
        shapes = [("Expand and contract (FFN)", (d, ff, d)), ("Bottleneck (ResNet-50)", (outer, inner, outer)),
                  ("Never narrow again", (ff, ff, ff))]
        pale, pink, between = [], [], []
        for middle, (name, widths), label, sizes in zip(MIDDLES, shapes, self.labels, self.sizes):
            label.set_text(name)
            scale = REACH / max(widths)
            for step, (width, text) in enumerate(zip(widths, sizes)):
                y = TOP + step * (HEIGHT + SIDE)
                (pink if step == 1 else pale).append(fh.rectangles(middle - width * scale / 2, y, width * scale, SIDE))
                text.set_text(f"{width:,}")
                if step < 2:
                    between.append(fh.trapezoid(middle, y + SIDE + 3, width * scale, widths[step + 1] * scale, HEIGHT - 6))
        self.narrow.set_path(fh.joined(pale)), self.wide.set_path(fh.joined(pink)), self.trapezoids.set_path(fh.joined(between))
        costs = 12 * d * d, 12 * ff * ff
        for i, (cost, width, text) in enumerate(zip(costs, (d, ff), self.costs)):
            self.names[i].set_text(f"stream of {width:,}")
            length = BAR_WIDTH * cost / max(costs)
            text.set(x=BAR_X + length + 8, text=f"{fh.num(cost / d / d)} d²")
        self.bars.set_path(fh.rectangles(BAR_X, [BAR_Y - 13, BAR_Y + 27], [BAR_WIDTH * c / max(costs) for c in costs], 26))
        self.title = f"Wide in the middle: {d:,} → {ff:,} → {d:,} is a bottleneck turned inside out"
        self.sentence = f"Leaving the stream at {ff:,} would cost {costs[1] // d ** 2} d² instead of {costs[0] // d ** 2} d² weights a layer, {fh.num(costs[1] / costs[0])} times as many."
        self.alt = (f"Width profiles: FFN {d:,} to {ff:,} to {d:,}, bottleneck {outer} to {inner} to {outer}, and {ff:,} throughout. "
                    f"The last costs {fh.num(costs[1] / costs[0])} times the weights.")


def default():
    """The documents' widths beside the bottleneck block of ResNet-50."""
    return WidthShapes()
