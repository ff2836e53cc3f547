"""What a model holds and computes: the share of a layer's FLOPs against the length of the text, beside its counts.

The plot is filled to the top whatever the sizes: at each length FFN, projections and scores make 100 %.
Attention (projections and scores) overtakes the FFN where the FFN falls below one half.
"""
import math

import numpy as np

import ffn_helpers as fh
import model_costs

OWN, SIZES = "own", ("layers", "d_model", "d_ff", "heads", "kv_heads", "gated", "vocab")
X0, X1, OCTAVES = 112, 602, (6, 20)                 # the length axis, from 64 to 1M tokens
STRIPS, HIGH = {"document": 84, "full": 116, "causal": 142}, 21
TOP, BOTTOM, RUG = 206, 444, 508                    # the plot, and the line with every model's crossing
TABLE, FULL, CAUSAL = 692, 892, 980                 # left edge of the table, right edges of its columns
CLAIM = 1024, 8192                                  # "below 1K", "above 8K"
LABELS = {"Transformer base": -1, "LLaMA-2-7B": -1, "PaLM-540B": -1, "GPT-2 small": 1, "LLaMA-3-8B": 1}     # above, below
LENGTHS = 2.0 ** np.arange(OCTAVES[0], OCTAVES[1] + 0.01, 0.25)
LIGHT = fh.tint(fh.INK, 0.14)
BOTH = fh.WEIGHT                                    # attention as a whole: projections (light) and scores (ink)
PARTS = {"FFN": fh.HIDDEN, "projections": LIGHT, "embeddings": fh.ZERO, "norms, rest": fh.ZERO}


class Flops(fh.Picture):
    """model: a name of models.csv, or "own" with layers, d_model, d_ff, heads, kv_heads, gated and vocab; length in tokens.

    A named model sets all sizes. When `set` changes a size, the model is the one of exactly those sizes, or "own".
    """
    size = 1000, 634
    linked = ("model", *SIZES)

    def check(self, model: str = "LLaMA-3-8B", length=4096, **sizes):
        length = model_costs.whole("length", length, high=model_costs.LONGEST)
        if unknown := [name for name in sizes if name not in SIZES]:
            raise TypeError(f"{unknown[0]} is no value of this picture; sizes are {', '.join(SIZES)}")
        if model != OWN:
            found = model_costs.find(model)
            return dict(model=model, length=length, **{name: getattr(found, name) for name in SIZES})
        found = self.model_of(OWN, _clean(sizes))
        return dict(model=OWN, length=length, **{name: getattr(found, name) for name in SIZES})

    def set(self, **values):
        if "model" not in values and any(name in values for name in SIZES):
            sizes = _clean({name: values.get(name, self.values[name]) for name in SIZES})
            values["model"] = next((name for name, model in model_costs.models().items()
                                    if all(getattr(model, size) == sizes[size] for size in SIZES)), OWN)
        return super().set(**values)

    @staticmethod
    def model_of(model, sizes):
        return model_costs.find(model) if model != OWN else model_costs.Model("Your model", **sizes)

    # ---- what stays
    def build(self):
        self._strips()
        self._plot()
        self._rug()
        self._table()
        self.notes = [self.moves(self.text(20, y)) for y in (554, 574)]
        self.text(20, 598, "Full: every token reads all, or one is decoded at that length. Causal: the mean over a prompt, half the scores (for long texts).", colour=fh.WEIGHT)
        self.text(20, 618, "A multiply-add counts 2. M, G, T, P: 10⁶, 10⁹, 10¹², 10¹⁵. Attention: projections and scores. Embeddings: with the output matrix.", colour=fh.WEIGHT)

    def _strips(self):
        for name, y in STRIPS.items():
            self.text(20, y + HIGH / 2, name, 11, "normal" if name == "document" else "bold")
            self.rectangle(X0, y, X1 - X0, HIGH, fh.ZERO, fh.INK)
        y = STRIPS["document"]
        low, high = (_x(length) for length in CLAIM)
        self.rectangle(X0, y, low - X0, HIGH, fh.HIDDEN, fh.INK)
        self.rectangle(high, y, X1 - high, HIGH, BOTH, fh.INK)
        for x, text, colour in [((X0 + low) / 2, "FFN leads", fh.INK), ((low + high) / 2, "not said", fh.INK),
                                ((high + X1) / 2, "attention leads", fh.ZERO)]:
            self.text(x, y + HIGH / 2, text, 10.5, "bold", colour, ha="center")
        self.text(X1 + 8, y + HIGH / 2, "1K, 8K")
        self.led = self.moves(self.patch(fh.EMPTY, fh.HIDDEN, fh.INK))
        self.lost = self.moves(self.patch(fh.EMPTY, BOTH, fh.INK))
        bold = lambda x, y, colour, ha: self.moves(self.text(x, y + HIGH / 2, "", 10.5, "bold", colour, ha=ha))
        self.strip_texts = [[bold(0, STRIPS[name], fh.INK, "center"), bold(0, STRIPS[name], fh.ZERO, "center"),
                             bold(X1 + 8, STRIPS[name], fh.INK, "left")] for name in ("full", "causal")]

    def _plot(self):
        self.text(20, TOP - 20, "share of a layer’s FLOPs", 11)
        self.rectangle(X0, TOP, X1 - X0, BOTTOM - TOP, fh.INK, zorder=0.2)
        self.projections = self.moves(self.patch(fh.EMPTY, LIGHT, zorder=0.4))
        self.ffn = self.moves(self.patch(fh.EMPTY, fh.HIDDEN, fh.INK, 1.2, zorder=0.6))
        for share in (0, 50, 100):
            self.text(X0 - 12, _y(share / 100), f"{share} %", weight="bold" if share == 50 else "normal", ha="right")
            self.line([X0 - 6, X0], [_y(share / 100)] * 2, width=1)
        for line in self.cased([X0, X1], [_y(0.5)] * 2, 1.2):
            self.moves(line)                       # over the areas, which move
        for octave in range(OCTAVES[0], OCTAVES[1] + 1, 2):
            x = _x(2 ** octave)
            self.line([x, x], [BOTTOM, BOTTOM + 5], width=1)
            self.text(x, BOTTOM + 24, f"{2 ** octave}" if octave < 10 else f"{2 ** (octave - 10)}K" if octave < 20 else "1M", ha="center")
        self.text(X1 + 18, BOTTOM + 24, "tokens")
        self.ffn_name = self.moves(self.text(0, BOTTOM - 18, "", 11, "bold"))
        self.scores_name = self.moves(self.text(0, TOP + 18, "", 11, "bold", fh.ZERO))
        self.causal = [self.moves(artist) for artist in self.cased([], [], 2, dashes=(4, 1.6))]
        self.causal_name = self.moves(self.text(0, 0, "", 10.5, "normal", fh.ZERO))
        self.drops = [self.moves(self.patch(fh.EMPTY, "none", colour, width, zorder=2.4)) for colour, width in ((fh.ZERO, 3), (fh.INK, 1.2))]
        self.at_full = self.moves(self.patch(fh.EMPTY, fh.ZERO, fh.INK, 2, zorder=3))
        self.at_causal = self.moves(self.patch(fh.EMPTY, fh.ZERO, fh.INK, 2, zorder=3))
        self.here = [self.moves(artist) for artist in self.cased([], [], 1.6, dashes=(1, 1.6), zorder=2.2)]
        self.pointer = self.moves(self.patch(fh.EMPTY, fh.INK, fh.ZERO, 1, zorder=4))

    def cased(self, xs, ys, width, zorder=2, **more):
        """A line that can be seen on dark ground too: white under ink."""
        return self.line(xs, ys, fh.ZERO, width + 2.2, zorder=zorder - 0.1), self.line(xs, ys, fh.INK, width, zorder=zorder, **more)

    def _rug(self):
        crossings = {name: model.crossing() for name, model in model_costs.models().items()}
        for y, text in ((RUG - 9, "full, for"), (RUG + 9, "all models")):
            self.text(20, y, text, colour=fh.WEIGHT)
        self.line([X0, X1], [RUG, RUG], fh.SOFT, 1)
        self.patch(fh.rectangles([_x(at) - 1 for at in crossings.values()], RUG - 7, 2, 14), fh.WEIGHT)
        for name, side in LABELS.items():
            first = name == "Transformer base"
            self.text(_x(crossings[name]) + 4 * first, RUG + side * 17, name, colour=fh.WEIGHT, ha="right" if first else "center")
        self.mine = self.moves(self.patch(fh.EMPTY, fh.INK, zorder=3))

    def _table(self):
        right = lambda x, y, weight="normal": self.moves(self.text(x, y, "", 10.5, weight, ha="right"))
        swatch = lambda y, fill: self.rectangle(TABLE, y - 5, 10, 10, fill, fh.INK, 1)
        self.text(TABLE, 94, "What it holds", 12, "bold")
        self.total = self.moves(self.text(TABLE, 116, "", 10.5, "bold"))
        self.parts = [self.moves(self.patch(fh.EMPTY, fill, fh.INK)) for fill in PARTS.values()]
        self.held = []
        for y, (name, fill) in zip(range(168, 248, 20), PARTS.items()):
            swatch(y, fill)
            self.text(TABLE + 18, y, name)
            self.held.append((right(FULL, y), right(CAUSAL, y)))
        self.text(TABLE, 250, "FFN of attention + FFN", weight="bold")
        self.block = right(CAUSAL, 250, "bold")
        self.heading = self.moves(self.text(TABLE, 290, "", 12, "bold"))
        self.text(TABLE, 312, "one token, 1 layer"), self.text(FULL, 312, "full", weight="bold", ha="right"), self.text(CAUSAL, 312, "causal", weight="bold", ha="right")
        for y, (name, fill) in zip((334, 354, 374), {"FFN": fh.HIDDEN, "projections": LIGHT, "scores, mixing": fh.INK}.items()):
            swatch(y, fill)
            self.text(TABLE + 18, y, name)
        for y in (334, 354):
            self.text(CAUSAL, y, "the same", ha="right")
        self.text(TABLE, 394, "FFN’s share", weight="bold")
        self.flops = [right(FULL, 334), right(FULL, 354), right(FULL, 374)]
        self.causal_scores, self.flop_shares = right(CAUSAL, 374), (right(FULL, 394, "bold"), right(CAUSAL, 394, "bold"))
        self.all_layers = self.moves(self.text(TABLE, 416, ""))
        self.sums = right(FULL, 416), right(CAUSAL, 416)
        self.text(TABLE, 456, "What the cache keeps", 12, "bold")
        self.text(TABLE, 478, "bytes a token, 16-bit"), self.text(TABLE, 498, "tokens, as big as the FFN")
        self.cache = right(CAUSAL, 478), right(CAUSAL, 498)

    # ---- what moves
    def update(self):
        v = self.values
        model = self.model_of(v["model"], {name: v[name] for name in SIZES})
        crossings = model.crossing(), model.crossing(causal=True)
        self._draw_strips(crossings)
        self._draw_plot(model, crossings, v["length"])
        shares = self._fill_table(model, v["length"])
        self._say(model, crossings, v["length"], shares)

    def _draw_strips(self, crossings):
        led, lost = [], []
        for crossing, y, texts in zip(crossings, (STRIPS["full"], STRIPS["causal"]), self.strip_texts):
            x = X0 if crossing is None else _x(crossing)
            led.append(fh.rectangles(X0, y, x - X0, HIGH))
            lost.append(fh.rectangles(x, y, X1 - x, HIGH))
            texts[0].set(text=_fitting(x - X0, "FFN leads", "FFN"), x=(X0 + x) / 2)
            texts[1].set(text=_fitting(X1 - x, "attention leads", "attention"), x=(x + X1) / 2)
            texts[2].set_text("from 1" if crossing is None else _whole(crossing))
        self.led.set_path(fh.joined(led)), self.lost.set_path(fh.joined(lost))

    def _draw_plot(self, model, crossings, length):
        xs, scores = _x(LENGTHS), model.score_flops * LENGTHS
        ffn, projections = model.ffn_flops, model.projection_flops
        full = ffn / (ffn + projections + scores)
        under = (ffn + projections) / (ffn + projections + scores)
        causal = ffn / (ffn + projections + scores / 2)
        area = lambda share: fh.closed(np.vstack([[X0, BOTTOM], np.c_[xs, _y(share)], [X1, BOTTOM]]))
        self.ffn.set_path(area(full)), self.projections.set_path(area(under))
        for line in self.causal:
            line.set_data(xs, _y(causal))
        x = _x(length)
        places = [None if crossing is None else (_x(crossing), _y(0.5)) for crossing in crossings]
        drops = [fh.rectangles(x, STRIPS[name] + HIGH, 0.01, y - STRIPS[name] - HIGH) for name, (x, y) in
                 zip(("full", "causal"), (place or (0, 0) for place in places)) if x]
        for drop in self.drops:
            drop.set_path(fh.joined(drops))
        self.at_full.set_path(fh.circle(*places[0], 6.5) if places[0] else fh.EMPTY)
        self.at_causal.set_path(_diamond(*places[1], 8) if places[1] else fh.EMPTY)
        self.mine.set_path(fh.rectangles(_x(crossings[0]) - 2.5, RUG - 10, 5, 20) if crossings[0] else fh.EMPTY)
        self._name_areas(xs, full, under, causal, [x] + [place[0] for place in places if place])
        for line in self.here:
            line.set_data([x, x], [TOP, BOTTOM])
        side = -1 if length < LENGTHS[0] else 1 if length > LENGTHS[-1] else 0      # beyond the axis: point outward
        self.pointer.set_path(fh.closed([(x, BOTTOM - 1), (x + 8, BOTTOM + 12), (x - 8, BOTTOM + 12)] if not side else
                                        [(x + side * 13, BOTTOM - 8), (x, BOTTOM - 16), (x, BOTTOM)]))

    def _name_areas(self, xs, full, under, causal, lines):
        """Names where their area is high enough and no upright line runs."""
        free = lambda left, right: not any(left - 5 < line < right + 5 for line in lines)
        at = next((left for left in (X0 + 10, X0 + 30, X0 + 60) if free(left, left + 34) and np.interp(left + 34, xs, full) > 0.14), None)
        self.ffn_name.set(text="FFN" if at else "", x=at or 0)
        at = next((right for right in range(X1 - 10, X0 + 70, -20) if free(right - 58, right) and np.interp(right - 58, xs, under) < 0.84), None)
        self.scores_name.set(text="scores" if at else "", x=(at or 58) - 58)
        for share in (0.2, 0.14, 0.28, 0.1, 0.36):
            left = np.interp(-share, -causal, xs) + 10
            low, high = np.interp(left, xs, causal) + 0.02, np.interp(left, xs, causal) + 0.09        # of the text
            dark, light = low > np.interp(left, xs, under), high < np.interp(left + 50, xs, under)
            if causal[-1] < share < causal[0] and left + 50 < X1 and free(left, left + 50) and (dark or light):
                return self.causal_name.set(text="causal", x=left, y=_y((low + high) / 2), color=fh.ZERO if dark else fh.INK)
        self.causal_name.set_text("")

    def _fill_table(self, model, length):
        part, total = model.parameters, model.total
        self.total.set_text(f"{total:,} parameters")
        edges = TABLE + (CAUSAL - TABLE) * np.cumsum([0, *part.values()]) / total
        for patch, left, right in zip(self.parts, edges, edges[1:]):
            patch.set_path(fh.rectangles(left, 130, right - left, 20))
        for (number, share), count in zip(self.held, part.values()):
            number.set_text(_big(count)), share.set_text(_percent(count / total))
        self.block.set_text(_percent(model.share("block"), 1))
        self.heading.set_text(f"At length {length:,}")
        full, causal = model.flops(length), model.flops(length, causal=True)
        shares = [flops["ffn"] / sum(flops.values()) for flops in (full, causal)]
        for text, count in zip((*self.flops, self.causal_scores), (*full.values(), causal["scores"])):
            text.set_text(_big(count))
        self.all_layers.set_text(f"all {model.layers} layers" if model.layers > 1 else "its 1 layer")
        for text, share in zip(self.flop_shares, shares):
            text.set_text(_percent(share))
        for text, causal in zip(self.sums, (False, True)):
            text.set_text(_big(model.flops_per_token(length, causal)))
        self.cache[0].set_text(_big(model.cache_bytes())), self.cache[1].set_text(_whole(model.cache_equals_ffn()))
        return shares

    def _say(self, model, crossings, length, shares):
        name, own = model.name.removesuffix(" v0.1"), self.values["model"] == OWN
        windowed, windowed_causal = model.crossing(windowed=True), model.crossing(causal=True, windowed=True)
        if crossings[0] is None:
            self.title = f"{name}: attention costs more than the FFN at every length"
        elif model.window:
            self.title = (f"{name}: attention leads from {_tokens(crossings[0])} on, with its window "
                          f"{'never' if windowed is None else 'from ' + _whole(windowed)}")
        else:
            self.title = f"{name}: attention overtakes the FFN at {_tokens(crossings[0])}, {_whole(crossings[1])} if causal"
        total = f"{model.total:,}" if model.total < 1e12 else _big(model.total)
        self.sentence = (f"At length {length:,} the FFN does {_percent(shares[0])} of a layer’s FLOPs, {_percent(shares[1])} if causal; "
                         f"it holds {_percent(model.share())} of {total} parameters.")
        notes = []
        if model.window:
            layers = "every layer" if model.window[1] == 1 else f"one layer in {model.window[1]}"
            notes.append(f"Its window is left out: {layers} reads only {model.window[0]:,} tokens back. With it attention "
                         + ("never overtakes." if windowed is None else f"leads from {_whole(windowed)}, causal {_whole(windowed_causal)}."))
        if model.second:
            notes.append(f"FLOPs of one encoder layer; {model.second} of {model.layers} layers are a decoder’s, with a second attention.")
        if model.experts > 1:
            notes.append(f"{model.experts} experts a layer are stored, {model.active} used: of the {model.total_active:,} parameters a token uses "
                         f"{_percent(model.share('active'))} are FFN.")
        if own:
            notes.append("Your sizes: a decoder without biases, head size d_model ÷ heads, an output matrix of its own.")
        elif model.second_hand:
            notes.append(f"Second-hand: {model.second_hand}.")
        elif len(notes) < 2:
            notes.append("Sizes read in the maker’s own code, configuration or paper.")
        for text, note in zip(self.notes, notes + ["", ""]):
            text.set_text(note)
        overtakes = "leads at every length" if crossings[0] is None else f"passes half at {_tokens(crossings[0])}, {_whole(crossings[1])} causal"
        self.alt = (f"Shares of a layer’s FLOPs against length for {'a model of own sizes' if own else name}. Attention {overtakes}. "
                    f"Beside it the parameters: the FFN holds {_percent(model.share())} of {model.total:,}.")


def _clean(sizes):
    """Sizes as whole numbers, and `gated` as True or False."""
    missing = [name for name in SIZES if name not in sizes]
    if missing or len(sizes) > len(SIZES):
        raise ValueError(f"own sizes are {', '.join(SIZES)}; got {', '.join(sizes) or 'none'}")
    if not isinstance(sizes["gated"], (bool, np.bool_)):
        raise TypeError(f"gated must be True or False, got {type(sizes['gated']).__name__}")
    return {name: bool(sizes[name]) if name == "gated" else model_costs.whole(name, sizes[name]) for name in SIZES}


def _x(length):
    """Where a length stands, in pixels; lengths beyond the axis stand at its end."""
    return X0 + (X1 - X0) * (np.clip(np.log2(length), *OCTAVES) - OCTAVES[0]) / (OCTAVES[1] - OCTAVES[0])


def _y(share):
    return BOTTOM - (BOTTOM - TOP) * share


def _diamond(x, y, r):
    return fh.closed([(x - r, y), (x, y - r), (x + r, y), (x, y + r)])


def _fitting(width, *texts):
    """The first text that fits into `width` pixels."""
    return next((text for text in texts if 7.6 * len(text) + 8 < width), "")


def _whole(number):
    """A length, rounded up to whole tokens."""
    return f"{math.ceil(number - 1e-9):,}"


def _tokens(number):
    return f"{_whole(number)} token{'s' * (math.ceil(number - 1e-9) != 1)}"


def _big(number):
    """Exact below a million, then four digits and a letter."""
    if number >= 1e18:
        return "over 10¹⁸"
    if number < 1e6:
        return f"{number:,.0f}"
    rounded = float(f"{number:.4g}")
    power = (len(f"{rounded:.0f}") - 1) // 3
    return f"{rounded / 1000 ** power:.4g} {' kMGTPE'[power]}"


def _percent(share, digits=0):
    return f"{100 * share:.{digits}f} %" if share >= 0.005 or share == 0 else "<1 %"


def default():
    """The picture as published: LLaMA-3-8B at 4,096 tokens."""
    return Flops(model="LLaMA-3-8B", length=4096)
