"""Three shapes of width: expand and contract, its opposite the bottleneck, and a stream that never narrows again."""
import ffn_helpers as fh
import model_costs

TOP, HEIGHT, SIDE, MIDDLES, REACH = 148, 40, 30, (118, 338, 668), 408      # REACH pixels for the widest layer
INSIDE = 60                                                                # a box this wide holds its number
BAR_X, BAR_Y, BAR_WIDTH = 180, 414, 610


class WidthShapes(fh.Picture):
    """d_model and d_ff of an FFN; `outer` and `inner` widths of a bottleneck block for contrast."""
    size = 900, 484

    def check(self, d_model=512, d_ff=2048, outer=256, inner=64):
        values = {name: model_costs.whole(name, value) for name, value in
                  [("d_model", d_model), ("d_ff", d_ff), ("outer", outer), ("inner", inner)]}
        if values["d_ff"] <= values["d_model"] or values["inner"] >= values["outer"]:
            raise ValueError(f"d_ff = {values['d_ff']} should be above d_model = {values['d_model']}, "
                             f"inner = {values['inner']} below outer = {values['outer']}")
        return values

    def build(self):
        shape = lambda fill, **more: self.moves(self.patch(fh.EMPTY, fill, **more))
        self.trapezoids, self.bars = shape(fh.WEIGHT), shape(fh.WEIGHT)
        self.narrow, self.wide = shape(fh.ZERO, edge=fh.INK, width=1.4, zorder=2), shape(fh.tint(fh.HIDDEN, 0.6), edge=fh.INK, width=1.4, zorder=2)
        for x, name in zip(MIDDLES, ("Expand and contract", "Bottleneck (ResNet-50)", "Never narrow again")):
            self.text(x, TOP - 50, name, 12, "bold", ha="center")
        self.scales = [self.moves(self.text(x, TOP - 30, "", colour=fh.WEIGHT, ha="center")) for x in MIDDLES]
        self.sizes = [[self.moves(self.text(0, TOP + step * (HEIGHT + SIDE) + SIDE / 2, "", 11, zorder=3)) for step in range(3)]
                      for _ in MIDDLES]
        self.rule = self.moves(self.text(20, BAR_Y - 54, "", 11, "bold"))
        self.meaning = self.moves(self.text(20, BAR_Y - 34, ""))
        self.names = [self.moves(self.text(BAR_X - 10, BAR_Y + 36 * i, "", 11, ha="right")) for i in range(2)]
        self.costs = [self.moves(self.text(0, BAR_Y + 36 * i, "", 11)) for i in range(2)]

    def update(self):
        d, ff, outer, inner = (self.values[k] for k in ("d_model", "d_ff", "outer", "inner"))
        ratio, widest = ff / d, ff * ff / d
        scale = REACH / widest                                      # one scale for the left and the right shape
        own = ff * scale / outer                                    # the bottleneck is drawn as wide as the FFN beside it
        shapes = [((d, ff, d), scale), ((outer, inner, outer), own), ((ff, widest, ff), scale)]
        pale, pink, between = [], [], []
        for middle, (widths, scale), sizes in zip(MIDDLES, shapes, self.sizes):
            for step, (width, text) in enumerate(zip(widths, sizes)):
                y, length = TOP + step * (HEIGHT + SIDE), width * scale
                (pink if step == 1 else pale).append(fh.rectangles(middle - length / 2, y, length, SIDE))
                inside = length >= INSIDE
                text.set(text=fh.num(width, 0), x=middle if inside else middle + length / 2 + 8, ha="center" if inside else "left")
                if step < 2:
                    between.append(fh.trapezoid(middle, y + SIDE + 3, length, widths[step + 1] * scale, HEIGHT - 6))
        self.narrow.set_path(fh.joined(pale)), self.wide.set_path(fh.joined(pink)), self.trapezoids.set_path(fh.joined(between))
        for text, words in zip(self.scales, ("same scale as on the right", f"drawn {fh.num(own / shapes[0][1])} times larger", "same scale as on the left")):
            text.set_text(words)
        costs = [(4 + 2 * ratio) * width ** 2 for width in (d, ff)]
        self.rule.set_text(f"Weights of one layer: attention 4 × width², plus an FFN {fh.num(ratio)} times as wide, 2 × {fh.num(ratio)} × width²")
        self.meaning.set_text(f"d = d_model = {d:,}. The stream is the row of numbers that a token carries from layer to layer: the outer boxes.")
        for i, (cost, width, text) in enumerate(zip(costs, (d, ff), self.costs)):
            self.names[i].set_text(f"stream of {width:,}")
            text.set(x=BAR_X + BAR_WIDTH * cost / max(costs) + 8, text=f"{fh.num(cost / d / d)} d²")
        self.bars.set_path(fh.rectangles(BAR_X, [BAR_Y - 12, BAR_Y + 24], [BAR_WIDTH * c / max(costs) for c in costs], 24))
        few, many, times = (fh.num(n) for n in (costs[0] / d / d, costs[1] / d / d, costs[1] / costs[0]))
        self.title = f"The FFN’s {d:,} → {ff:,} → {d:,} is a bottleneck turned inside out"
        self.sentence = (f"A stream left at {ff:,} widens by {fh.num(ratio)} again, to {fh.num(widest, 0)}: "
                         f"{many} d² weights a layer, not {few} d², {times} times as many.")
        self.alt = (f"Width profiles: FFN {d:,} to {ff:,} to {d:,}, bottleneck {outer:,} to {inner:,} to {outer:,}, and a stream that stays at {ff:,} "
                    f"with an FFN of {fh.num(widest, 0)}. The last costs {times} times the weights of the first.")


def default():
    """The documents' widths beside the bottleneck block of ResNet-50."""
    return WidthShapes()
