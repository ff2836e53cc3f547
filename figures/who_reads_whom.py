"""Who reads whom: which tokens one layer uses to make a token's new row, for four kinds of layer."""
import numpy as np
import torch

import ffn_helpers as fh
import model_costs

LEFTS, TOP, CELL = (112, 336, 560, 784), 168, 24      # left edges of the four grids, upper edge, cell


class WhoReadsWhom(fh.Picture):
    """ffn, convolution, recurrence, attention (8, 8): how far row i of y moves when row j of x is nudged."""
    size = 1000, 470
    kinds = "ffn", "convolution", "recurrence", "attention"

    def check(self, ffn, convolution, recurrence, attention,
              names: fh.SEVERAL = ("the", "old", "cat", "sat", "on", "a", "warm", "mat"), reader: fh.NUMBER = 5):
        given = locals()
        masks = {kind: fh.checked(kind, given[kind], (8, 8)) for kind in self.kinds}
        for kind, mask in masks.items():
            if (mask < 0).any():
                raise ValueError(f"{kind} with shape {mask.shape} holds negative numbers, expected sizes of a change")
        if len(names) != 8 or not all(isinstance(name, str) and 1 <= len(name) <= 6 for name in names):
            raise ValueError(f"names must be 8 words of 1 to 6 letters, got {fh.brief(names)}")
        return dict(masks, names=tuple(names), reader=model_costs.whole("reader", reader, 1, 8))

    def build(self):
        step = CELL * np.arange(8)
        for left, kind in zip(LEFTS, ("FFN", "Convolution", "Recurrence", "Attention")):
            self.text(left, TOP - 68, kind, 12, "bold")
            self.patch(fh.rectangles(left + np.tile(step, 8), TOP + np.repeat(step, 8), CELL, CELL), "none", fh.SOFT, 0.9)
        self.squares = self.moves(self.patch(fh.EMPTY, fh.INK))
        self.frames = self.moves(self.patch(fh.EMPTY, edge=fh.INK, width=2.6))
        self.words = [self.moves(self.text(100, TOP + CELL * (i + 0.5), "", 11, ha="right")) for i in range(8)]
        self.reads = [self.moves(self.text(left, TOP - 46, "", 11)) for left in LEFTS]
        self.counts = [self.moves(self.text(left, TOP + 8 * CELL + 20, "", 12, "bold")) for left in LEFTS]
        for left in LEFTS:
            for i in (0, 3, 7):
                self.text(left + CELL * (i + 0.5), TOP - 14, str(i + 1), colour=fh.WEIGHT, ha="center")
        self.text(100, TOP + 8 * CELL + 20, "not 0", 11, ha="right")
        self.text(20, 428, "Down: the token whose new row is made. Across: the token that it reads. Area: how far the row moves, "
                           "all four on one scale.", colour=fh.WEIGHT)
        self.text(20, 448, "Empty: exactly 0. One layer of each kind with random weights; stacked convolutions reach further.", colour=fh.WEIGHT)

    def update(self):
        v, row = self.values, self.values["reader"] - 1
        top = max(v[kind].max() for kind in self.kinds) or 1.0
        squares, seen = [], []
        centre = CELL * (np.arange(8) + 0.5)
        for left, kind, reads, count in zip(LEFTS, self.kinds, self.reads, self.counts):
            side = (CELL - 3) * np.sqrt(v[kind] / top)
            squares.append(fh.rectangles(left + centre[None] - side / 2, TOP + centre[:, None] - side / 2, side, side))
            seen.append(int(np.count_nonzero(v[kind][row])))
            reads.set_text(f"“{v['names'][row]}” reads {seen[-1]}")
            count.set_text(f"{np.count_nonzero(v[kind])} of 64")
        self.squares.set_path(fh.joined(squares))
        self.frames.set_path(fh.joined([fh.rectangles(left, TOP + CELL * row, 8 * CELL, CELL) for left in LEFTS]))
        for i, (text, name) in enumerate(zip(self.words, v["names"])):
            text.set_text(f"{i + 1} {name}")
            text.set_fontweight("bold" if i == row else "normal")
        own = np.count_nonzero(v["ffn"] - np.diag(np.diag(v["ffn"]))) == 0
        self.title = ("The FFN reads only its own token; attention reads them all" if own and v["attention"].all() else
                      f"Tokens read in one layer: {', '.join(map(str, seen))}")
        self.sentence = (f"To make its new row, “{v['names'][row]}” reads {seen[0]} token{'s' * (seen[0] != 1)} in the FFN, "
                         f"{seen[1]} in a convolution, {seen[2]} in a recurrence, {seen[3]} in attention.")
        self.alt = f"Four 8 by 8 grids of who reads whom. {self.sentence}"


def default():
    """The picture as published: one random layer of each kind over eight tokens of width 6."""
    rng = np.random.default_rng(1)
    array = lambda *shape: torch.as_tensor(rng.normal(size=shape))
    x, W1, W2 = array(8, 6), array(6, 24) / 6 ** 0.5, array(24, 6) / 12 ** 0.5
    Wq, Wk, Wv, Wo = 0.4 * array(4, 6, 6)
    K, U = array(6, 6, 3) / 18 ** 0.5, array(2, 6, 6) / 8 ** 0.5

    def recurrence(x):
        states = [torch.zeros(6, dtype=x.dtype)]
        for row in x:
            states.append(torch.tanh(row @ U[0] + states[-1] @ U[1]))
        return torch.stack(states[1:])

    layers = dict(ffn=lambda x: torch.relu(x @ W1) @ W2, recurrence=recurrence,
                  convolution=lambda x: torch.nn.functional.conv1d(x.T, K, padding=1).T,
                  attention=lambda x: torch.softmax((x @ Wq) @ (x @ Wk).T / 6 ** 0.5, dim=1) @ (x @ Wv) @ Wo)
    size = lambda layer: torch.autograd.functional.jacobian(layer, x).square().sum(dim=(1, 3)).sqrt()
    return WhoReadsWhom(**{kind: size(layer) for kind, layer in layers.items()})
