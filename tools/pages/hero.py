"""The picture on the first page: one number goes through three units and comes out as one.

`marks` says what stands in the picture for given inputs, as {"id.attribute": text}. The page is built with
the marks of `START`; hero.js computes the same marks in the browser, and a test holds the two together.
Everything drawn is placed in pixels of two drawings, the network and the curve.
"""
import numpy as np

import ffn_helpers as fh

START = dict(x=1.0, W1=[1.0, 1.0, 1.0], b1=[2.0, 0.0, -2.0], activation="relu")
FIXED = dict(W2=[1.0, -2.0, 2.0], b2=1.0)
LIMITS = dict(x=(-4, 4, 0.1), W1=(-2, 2, 0.5), b1=(-3, 3, 0.5))
# The curve's box in its drawing, with what it shows; the bars of z in the network's.
FRAME = dict(left=64, top=34, width=440, height=264, low=-4, high=4, bottom=-4, ceiling=4)
BAR = dict(base=[74, 206, 338], unit=8, longest=38)
STRIPS = dict(top=[336, 359, 382], height=14)


def pixels(value):
    return f"{value:.2f}"


def across(x):
    return FRAME["left"] + (x - FRAME["low"]) * FRAME["width"] / (FRAME["high"] - FRAME["low"])


def down(y):
    return FRAME["top"] + (FRAME["ceiling"] - y) * FRAME["height"] / (FRAME["ceiling"] - FRAME["bottom"])


def forward(x, W1, b1, activation):
    """z (3,), h (3,) and the number y, by the course's own formula."""
    z = x * np.asarray(W1) + np.asarray(b1)
    h = fh.activate(z, activation)
    return z, h, float(h @ np.asarray(FIXED["W2"]) + FIXED["b2"])


def term(factor):
    """A factor before x: `x`, `−x`, `0.5 x`."""
    return {1.0: "x", -1.0: "−x"}.get(factor, f"{fh.num(factor)} x")


def line(slope, offset):
    """`2 x − 1`, without what is zero."""
    if slope == 0:
        return fh.num(offset)
    if offset == 0:
        return term(slope)
    return f"{term(slope)} {'+' if offset > 0 else '−'} {fh.num(abs(offset))}"


def listed(words):
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def bends(W1, b1, activation):
    """Where the curve changes its slope inside the frame, in order; folds that cancel are no bend."""
    turns = {}
    for w, b, v in zip(W1, b1, FIXED["W2"]):
        if w and activation == "relu":
            turns[-b / w] = turns.get(-b / w, 0) + v * abs(w)
    return sorted(at for at, turn in turns.items() if turn and FRAME["low"] < at < FRAME["high"])


def marks(x, W1, b1, activation):
    """What stands in the picture, {"id.attribute": text}; the attribute `text` is an element's content."""
    z, h, y = forward(x, W1, b1, activation)
    found = bends(W1, b1, activation)
    cut = [activation == "relu" and value < 0 for value in z]
    slope, offset = float(np.dot(W1, FIXED["W2"])), float(np.dot(b1, FIXED["W2"]) + FIXED["b2"])
    m = {"x.text": fh.num(x), "y.text": fh.num(y)}
    for i in range(3):
        length = min(abs(z[i]) * BAR["unit"], BAR["longest"])
        m[f"unit{i}.class"] = "unit cut" if cut[i] else "unit"
        m[f"rule{i}.text"] = line(W1[i], b1[i])
        m[f"z{i}.text"] = f"z = {fh.num(z[i])}"
        m[f"h{i}.text"] = f"h = {fh.num(h[i])}"
        m[f"bar{i}.y"] = pixels(BAR["base"][i] - (length if z[i] > 0 else 0))
        m[f"bar{i}.height"] = pixels(length)
        m[f"bar{i}.class"] = "cutbar" if cut[i] else "positive" if z[i] > 0 else "negative"
        m[f"in{i}.stroke-width"] = pixels(1 + 2 * abs(W1[i]))
        m[f"out{i}.class"] = "wire cut" if cut[i] else "wire"
        # The stretch of x where the unit passes its number on: beyond its fold, or everywhere, or nowhere.
        left, right = FRAME["low"], FRAME["high"]
        if activation == "relu":
            if W1[i] > 0:
                left = max(left, -b1[i] / W1[i])
            elif W1[i] < 0:
                right = min(right, -b1[i] / W1[i])
            elif b1[i] < 0:
                right = left
        m[f"on{i}.x"], m[f"on{i}.width"] = pixels(across(left)), pixels(max(0, across(right) - across(left)))
        bend = found[i] if i < len(found) else None
        m[f"bend{i}.visibility"] = "hidden" if bend is None else "visible"
        m[f"bend{i}.cx"] = pixels(across(bend or 0))
        m[f"bend{i}.cy"] = pixels(down(forward(bend or 0, W1, b1, activation)[2]))
    ends = [FRAME["low"], *found, FRAME["high"]]
    m["curve.points"] = " ".join(f"{pixels(across(at))},{pixels(down(forward(at, W1, b1, activation)[2]))}" for at in ends)

    beyond = y > FRAME["ceiling"] or y < FRAME["bottom"]
    at, height = across(x), down(min(max(y, FRAME["bottom"]), FRAME["ceiling"]))
    tip, foot = (height, height + 14) if y > 0 else (height, height - 14)
    m["here.x1"] = m["here.x2"] = m["dot.cx"] = pixels(at)
    m["dot.cy"], m["dot.visibility"] = pixels(height), "hidden" if beyond else "visible"
    m["beyond.points"] = f"{pixels(at)},{pixels(tip)} {pixels(at - 9)},{pixels(foot)} {pixels(at + 9)},{pixels(foot)}"
    m["beyond.visibility"] = "visible" if beyond else "hidden"
    m["value.text"] = f"y = {fh.num(y)}"
    # The label stands where the curve is not: above it, on the side to which it falls, unless the frame ends there.
    rising = sum(w * v for w, v, value in zip(W1, FIXED["W2"], z) if activation == "identity" or value > 0) > 0
    left = x > 1.5 or rising and x >= -1.5
    above = left == rising
    m["value.x"], m["value.text-anchor"] = (pixels(at - 13), "end") if left else (pixels(at + 13), "start")
    m["value.y"] = pixels(min(max(height - 10 if above else height + 24, FRAME["top"] + 18), FRAME["top"] + FRAME["height"] - 8))

    numbers = f"x = {fh.num(x)} gives z = {fh.vec(z)}."
    where = f"at x = {listed([fh.num(bend) for bend in found])}" if found else f"between {fh.num(FRAME['low'])} and {fh.num(FRAME['high'])}"
    if activation == "identity":
        m["finding.text"] = "One straight line, three units or not"
        m["status.text"] = (f"{numbers} Nothing is cut, so y = {fh.num(y)}, and the three units together make "
                            f"one straight line: y = {line(slope, offset)}.")
    else:
        unseen = sum(not FRAME["bottom"] <= forward(bend, W1, b1, activation)[2] <= FRAME["ceiling"] for bend in found)
        m["finding.text"] = ("No bend here" if not found else f"{len(found)} bend{'s' * (len(found) > 1)}, where units switch"
                             + f"; {unseen} beyond the frame" * (unseen > 0))
        m["status.text"] = (f"{numbers} The ReLU cuts {sum(cut)} of 3: h = {fh.vec(h)}, so y = {fh.num(y)}. "
                            f"The line {'bends' if found else 'has no bend'} {where}.")
    return m
