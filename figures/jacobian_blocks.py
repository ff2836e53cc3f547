"""Every derivative of every output number by every input number, as squares: FFN beside attention.

Four tokens make 4 x 4 blocks. A block off the diagonal says how one token moves another one's row.
"""
import numpy as np
import torch

import ffn_helpers as fh

TOP, LEFTS, WIDTH = 150, (96, 574), 384               # panels: upper edge, left edges, width


class JacobianBlocks(fh.Picture):
    """ffn and attention (tokens, d, tokens, d): d y[i, a] / d x[j, b] at [i, a, j, b], at most 4 tokens of 8."""
    size = 1000, 600

    def check(self, ffn, attention):
        ffn = fh.checked("ffn", ffn, ("tokens", "d", "tokens", "d"))
        tokens, d = ffn.shape[:2]
        if ffn.shape != (tokens, d, tokens, d) or not (2 <= tokens <= 4 and 1 <= d <= 8):
            raise ValueError(f"ffn has shape {ffn.shape}, expected (tokens, d, tokens, d) with 2 to 4 tokens and d at most 8")
        return dict(ffn=ffn, attention=fh.checked("attention", attention, ffn.shape))

    def build(self):
        for left, name in zip(LEFTS, ("FFN", "Attention")):
            self.text(left, TOP - 54, name, 12, "bold")
        self.positive = self.moves(self.patch(fh.EMPTY, fh.POSITIVE, zorder=2))
        self.negative = self.moves(self.patch(fh.EMPTY, fh.NEGATIVE, zorder=2))
        self.empty = self.moves(self.patch(fh.EMPTY, fh.tint(fh.CUT, 0.45), zorder=0.5))
        self.blocks = self.moves(self.patch(fh.EMPTY, edge=fh.WEIGHT, width=1.2, zorder=1))
        self.labels = [[self.moves(self.text(0, 0, "", ha="center")) for _ in range(4)] for _ in range(4)]
        self.zeros = [self.moves(self.text(0, 0, "", 11, ha="center")) for _ in range(32)]
        self.counts = [self.moves(self.text(left + 104, TOP - 54, "", 11)) for left in LEFTS]
        self.text(20, 560, "Across: the number of x that is nudged. Down: the number of y that moves. Area: the derivative, both panels on one scale.",
                  colour=fh.WEIGHT)
        self.text(20, 580, "Square: y rises with x. Diamond: y falls. Grey block: every derivative in it is exactly 0.", colour=fh.WEIGHT)

    def update(self):
        maps = [self.values["ffn"], self.values["attention"]]
        tokens, d = maps[0].shape[:2]
        cell, block = WIDTH / (tokens * d), WIDTH / tokens
        top = max(np.abs(J).max() for J in maps) or 1.0
        squares, diamonds, empty, frames, zeros, live = [], [], [], [], [], []
        at = block * (np.arange(tokens) + 0.5)
        for J, left, count in zip(maps, LEFTS, self.counts):
            flat = J.reshape(tokens * d, tokens * d)
            row, column = np.nonzero(flat)
            half = (cell - 1) / 2 * np.sqrt(np.abs(flat[row, column]) / top)
            x, y, up = left + cell * (column + 0.5), TOP + cell * (row + 0.5), flat[row, column] > 0
            squares.append(fh.rectangles((x - half)[up], (y - half)[up], 2 * half[up], 2 * half[up]))
            diamonds.append(_diamonds(x[~up], y[~up], half[~up] * 2 ** 0.5))
            corner_y, corner_x = np.divmod(np.arange(tokens ** 2), tokens) * np.array([[block], [block]])
            frames.append(fh.rectangles(left + corner_x, TOP + corner_y, block, block))
            blank = np.abs(J).max(axis=(1, 3)) == 0
            empty.append(fh.rectangles(left + corner_x, TOP + corner_y, block * blank.ravel(), block))
            zeros += [(left + at[j], TOP + at[i]) for i, j in np.argwhere(blank)]
            live.append(int((~blank).sum()))
            count.set_text(f"{live[-1]} of {tokens ** 2} blocks are not 0")
        for patch, paths in zip((self.positive, self.negative, self.empty, self.blocks), (squares, diamonds, empty, frames)):
            patch.set_path(fh.joined(paths))
        for text, place in zip(self.zeros, zeros + [None] * (32 - len(zeros))):
            text.set_text("0" if place else "")
            text.set_position(place or (0, 0))
        self._name_tokens(at, tokens)
        across = [J.copy() for J in maps]
        for J in across:
            J[np.arange(tokens), :, np.arange(tokens)] = 0
        reach = [np.abs(J).max() for J in across]
        self.title = ("In the FFN a token’s output depends on that token alone" if reach[0] == 0 else
                      "Here tokens meet in the first network too")
        self.sentence = (f"Largest derivative across tokens: {'exactly 0' if reach[0] == 0 else fh.num(reach[0], 3)} in the FFN, "
                         f"{'exactly 0' if reach[1] == 0 else fh.num(reach[1], 3)} in attention.")
        self.alt = (f"Two Jacobians of {tokens} tokens as {tokens} by {tokens} blocks. FFN: {live[0]} of {tokens ** 2} blocks are not 0"
                    f"{', all on the diagonal' if reach[0] == 0 else ''}. Attention: {live[1]} of {tokens ** 2}.")

    def _name_tokens(self, at, tokens):
        for panel, left in enumerate(LEFTS):
            for i in range(4):
                column, row = self.labels[2 * panel][i], self.labels[2 * panel + 1][i]
                shown = i < tokens
                column.set_text(f"x of token {i + 1}" if shown else ""), row.set_text(f"y of {i + 1}" if shown else "")
                if shown:
                    column.set_position((left + at[i], TOP - 16))
                    row.set_position((left - 34, TOP + at[i]))


def _diamonds(x, y, reach):
    """One path of many squares that stand on a corner."""
    return fh.joined([fh.closed([(a - r, b), (a, b - r), (a + r, b), (a, b + r)]) for a, b, r in zip(x, y, reach)])


def default():
    """The picture as published: a random FFN, 6 → 24 → 6, and one random attention head, four tokens."""
    rng = np.random.default_rng(0)
    array = lambda *shape: torch.as_tensor(rng.normal(size=shape))
    x, W1, W2 = array(4, 6), array(6, 24) / 6 ** 0.5, array(24, 6) / 12 ** 0.5
    Wq, Wk, Wv, Wo = 0.6 * array(4, 6, 6)
    ffn = lambda x: torch.relu(x @ W1) @ W2
    attention = lambda x: torch.softmax((x @ Wq) @ (x @ Wk).T / 6 ** 0.5, dim=1) @ (x @ Wv) @ Wo
    jacobian = torch.autograd.functional.jacobian
    return JacobianBlocks(ffn=jacobian(ffn, x), attention=jacobian(attention, x))
