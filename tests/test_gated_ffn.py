"""The pictures of notebook 06: their numbers against torch and the published table, their words, no state left behind."""
import math
import random
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import ffn_helpers as fh
from figures import gate_surfaces, gated_ffn, shazeer
from tests.drawing import Recorder, bare, off_page, overlaps, published

FIGURES = [gated_ffn, gate_surfaces, shazeer]
GATES = {"silu": F.silu, "gelu": F.gelu, "relu": F.relu, "sigmoid": torch.sigmoid, "identity": lambda z: z}
TABLE1 = shazeer.default().values["table"]


def texts(picture):
    return sorted(label.text for label in Recorder(picture).labels)


def lengths(bars):
    """Signed bar lengths in pixels, read from the drawn paths."""
    found = np.zeros(len(bars.x))
    for patch in (bars.up, bars.down):
        for corners in patch.get_path().vertices.reshape(-1, 5, 2):
            found[np.flatnonzero(np.isclose(bars.x, corners[0, 0]))[0]] = corners[0, 1] - corners[2, 1]
    return found


def reference(values):
    """The same units in torch, written apart from the picture's own code."""
    units = round(values["d_ff"] / 64)
    x, W, V, W2 = (torch.as_tensor(values[name]) for name in ("x", "W", "V", "W2"))
    z, value = F.linear(x, W.T), F.linear(x, V.T)
    z[2], value[2] = values["z"], values["value"]
    gate = GATES[values["gate"]](z)[:units]
    h = gate * value[:units]
    return {"x": x, "z": z[:units], "gate": gate, "value": value[:units], "h": h, "y": F.linear(h, W2[:units].T)}


# ---------------------------------------------------------------- the gated FFN

@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("z, value, d_ff", [(2, -1.5, 1365), (-2, 2, 2048), (-0.7, -2, 256), (0, 0, 700)])
def test_bars_are_what_torch_computes(gate, z, value, d_ff):
    picture = gated_ffn.default().set(gate=gate, z=z, value=value, d_ff=d_ff)
    reach = gated_ffn._forward(picture.values)[-1]
    unit = {"x": 20 / reach["x"], "y": 20 / reach["y"], "h": gated_ffn.HALF_H / reach["h"]}
    for name, want in reference(picture.values).items():
        drawn = lengths(picture.bars[name]) / unit.get(name, gated_ffn.HALF / reach["z"])
        assert drawn.shape == want.shape and np.abs(drawn - want.numpy()).max() < 1e-9, name


def test_no_bar_leaves_its_strip_in_any_state():
    picture = gated_ffn.default()
    most = {"x": 20, "y": 20, "h": gated_ffn.HALF_H}
    fullest = 0
    for gate in GATES:
        for z in (-2, -1.2, 0, 2):
            for value in (-2, 0.3, 2):
                for d_ff in (256, 1365, 2048):
                    picture.set(gate=gate, z=z, value=value, d_ff=d_ff)
                    for name, bars in picture.bars.items():
                        longest = np.abs(lengths(bars)).max()
                        assert longest <= most.get(name, gated_ffn.HALF) + 1e-9, (name, picture.values)
                        fullest = max(fullest, longest if name == "h" else 0)
    assert fullest > 0.9 * gated_ffn.HALF_H            # and h uses its strip


@pytest.mark.parametrize("d_ff, weights, times", [(256, 393_216, "0.19"), (1365, 2_096_640, "1.00"), (2048, 3_145_728, "1.50")])
def test_budget_in_words_and_to_scale(d_ff, weights, times):
    picture = gated_ffn.default().set(d_ff=d_ff)
    assert f"{weights:,} weights, {times} times the usual two" in picture.sentence
    assert picture.chosen.get_text() == f"Gated, d_ff {d_ff:,}: {weights:,}, × {times}"
    right = picture.third.get_path().vertices[:, 0].max() + 1
    left, end = gated_ffn.BLOCKS
    assert (right - left) / ((end - left) * 2 / 3) == pytest.approx(weights / 2_097_152, abs=1e-9)
    assert {"Usual FFN, d_ff 2,048: 2,097,152", "Gated, d_ff 2,048: 3,145,728, × 1.50"} <= set(texts(picture))


def test_area_is_the_product_and_its_colour_the_sign():
    picture = gated_ffn.default()
    for gate, z, value in [("silu", 2, -1.5), ("silu", -1.3, 2), ("identity", -2, -2), ("relu", -1, 2), ("sigmoid", 1, 0)]:
        picture.set(gate=gate, z=z, value=value)
        h = float(GATES[gate](torch.tensor(float(z)))) * value
        drawn = [patch.get_path().vertices for patch in (picture.plus, picture.minus)]
        areas = [np.ptp(corners, axis=0).prod() if len(corners) else 0 for corners in drawn]
        assert areas == pytest.approx([max(h, 0), max(-h, 0)], abs=1e-6)
        assert picture.product.get_text() == f"h = {fh.num(h)}" and f"= {fh.num(h)}." in picture.sentence


@pytest.mark.parametrize("state, words", [
    (dict(z=2), "amplifies its value 1.76 times"), (dict(z=0.5), "lets 0.31 of its value through"), (dict(z=-1), "flips its value’s sign"),
    (dict(gate="relu", z=-1), "this gate is shut"), (dict(gate="identity", z=1), "passes its value unchanged"), (dict(z=0), "this gate is shut")])
def test_title_says_what_the_gate_does(state, words):
    picture = gated_ffn.default().set(**state)
    assert picture.title.endswith(words)
    assert picture.title.startswith(gated_ffn.NAMES[picture.values["gate"]][0] + " ")


def test_only_the_documents_own_formula_is_called_the_documents():
    picture = gated_ffn.default()
    for gate in GATES:
        shown = texts(picture.set(gate=gate))
        assert ("the document stops at h:" in shown) == (gate == "silu")
        assert sum(text.endswith(") W2") for text in shown) == 1
    assert "(xW × xV) W2" in shown and "SiLU(xW) × xV" not in shown


def test_the_default_of_the_gate_says_what_it_shows():
    picture = gated_ffn.default()
    assert texts(picture) == sorted([
        "x", "z", "2", "gate", "1.76", "value", "−1.5", "h", "−2.64", "y", "512 numbers, drawn as 8", "512 numbers, as x", "no activation", "×",
        "back to 512 numbers", "the document stops at h:", "SiLU(xW) × xV", "(SiLU(xW) × xV) W2", "SiLU", "W", "V", "W2",
        "The framed unit: h is an area", "gate", "value", "filled:", "gate × value", "dashed:", "z × value", "h = −2.64",
        "−2", "0", "2", "−2", "0", "2", "Weights at d_model = 512", "Usual FFN, d_ff 2,048: 2,097,152", "W1", "W2",
        "Gated, d_ff 2,048: 3,145,728, × 1.50", "W", "V", "W2", "Gated, d_ff 1,365: 2,096,640, × 1.00", "W", "V", "W2",
        "dotted: the usual budget", "Third matrix at equal d_ff: + 1/2, not + 2/3.",
        "Up is positive, down negative; h and y have scales of their own. Hatched: removed by the gate’s function. Random weights.",
        picture.title, picture.sentence])


# ---------------------------------------------------------------- the surfaces

def test_surfaces_are_the_product_and_the_readings_agree():
    picture = gate_surfaces.default()
    for z, value in [(-1, 2), (-3, -3), (0, 3), (2.5, -0.4)]:
        picture.set(z=z, value=value)
        for gate, text in zip(gate_surfaces.GATES, picture.readings):
            h = float(GATES[gate](torch.tensor(float(z), dtype=torch.float64))) * value
            assert text.get_text() == f"h = {fh.num(h)}"
            assert f"{gate_surfaces.GATES[gate]} {fh.num(h)}" in picture.sentence


def test_at_value_0_the_title_claims_nothing_of_the_gates():
    for z in (-1, 1):
        assert gate_surfaces.default().set(z=z, value=0).title == "At value 0 nothing passes"


@pytest.mark.parametrize("gate", gate_surfaces.GATES)
@pytest.mark.parametrize("level", gate_surfaces.LEVELS)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_band_holds_the_points_that_reach_its_level(gate, level, sign):
    z = np.linspace(-3, 3, 241)
    g = fh.activate(z, gate)
    band = gate_surfaces._beyond(z, sign * g, level)
    draw = np.random.default_rng(1)
    points = draw.uniform(-2.95, 2.95, (600, 2))
    h = sign * fh.activate(points[:, 0], gate) * points[:, 1]
    clear = np.abs(h - level) > 0.03                    # away from the edge, whose corners are cut by the sampling
    inside = np.zeros(len(points), bool)
    for polygon in band.to_polygons() if len(band.vertices) else []:
        inside |= type(band)(polygon).contains_points(points)
    assert (inside == (h > level))[clear].all()


# ---------------------------------------------------------------- Shazeer's table

def test_the_table_is_the_published_one():
    """Shazeer 2020, Table 1, typed here a second time."""
    assert {name: (short, long) for name, (short, _, long) in TABLE1.items()} == {
        "ReLU": (1.997, 1.677), "GELU": (1.983, 1.679), "SiLU": (1.994, 1.683), "GLU": (1.982, 1.663),
        "Bilinear": (1.960, 1.648), "ReGLU": (1.953, 1.645), "GEGLU": (1.942, 1.633), "SwiGLU": (1.944, 1.636)}


def test_both_panels_have_one_scale_and_dots_stand_on_it():
    picture = shazeer.default()
    for panel, column in ((0, 0), (1, 2)):
        at = {name: picture._at(name, panel)[0] for name in TABLE1}
        for name in TABLE1:
            step = (at[name] - at["ReLU"]) / (TABLE1[name][column] - TABLE1["ReLU"][column]) if name != "ReLU" else None
            assert step is None or step == pytest.approx((picture.place[0](2) - picture.place[0](1)), rel=1e-9)
            low, high = (picture.place[panel](TABLE1[name][column] + side * TABLE1[name][1]) for side in (-1, 1))
            assert shazeer.PANELS[panel] < low < high < shazeer.PANELS[panel] + shazeer.WIDTH


@pytest.mark.parametrize("first, second, title, gap", [
    ("ReLU", "SwiGLU", "Gating helps", "0.041 nats below ReLU (−4.0 %"), ("GEGLU", "SwiGLU", "Among gates the choice hardly matters", "0.003 nats above GEGLU (+0.3 %"),
    ("GLU", "GEGLU", "Among gates the choice matters here", "0.030 nats below GLU (−3.0 %"), ("ReLU", "GELU", "Without a gate the choice hardly matters", "0.002 nats above ReLU (+0.2 %")])
def test_words_of_a_comparison(first, second, title, gap):
    picture = shazeer.default().set(first=first, second=second)
    assert picture.title.startswith(title) and gap in picture.sentence
    assert f"± {math.hypot(TABLE1[first][1], TABLE1[second][1]):.3f}" in picture.sentence
    want = [f"{TABLE1[second][i] - TABLE1[first][i]:+.3f}".replace("-", "−") for i in (0, 2)]
    assert [text.get_text() for text in picture.differences] == want


def test_a_title_about_all_gates_needs_all_gates():
    worse = {**TABLE1, "GLU": (1.982, 0.006, 1.690)}
    assert "all five" not in shazeer.Shazeer(worse).title


def test_spread_at_the_long_runs_is_drawn_only_when_borrowed():
    picture = shazeer.default()
    assert not len(picture.borrowed.get_path().vertices) and "not published" in picture.known.get_text()
    picture.set(borrow=True)
    assert len(picture.borrowed.get_path().vertices) == 8 * 6 and "of the short runs" in picture.known.get_text()


def test_dashed_lines_pass_under_the_numbers_in_the_moving_layer_too():
    picture = shazeer.default()
    order = [artist.get_facecolor() for artist in picture.moving[picture.moving.index(picture.drops) + 1:] if not hasattr(artist, "get_text")]
    assert sum(tuple(colour) == (1, 1, 1, 1) for colour in order) == 2          # the plates of the numbers, the rings
    assert all(picture.moving.index(label) > picture.moving.index(picture.drops) for label in picture.labels.values())


# ---------------------------------------------------------------- all three

def states(figure, seed, count):
    draw = random.Random(seed)
    for _ in range(count):
        if figure is gated_ffn:
            yield dict(gate=draw.choice(list(GATES)), z=round(draw.uniform(-2, 2), 2), value=round(draw.uniform(-2, 2), 2), d_ff=draw.randint(256, 2048))
        elif figure is gate_surfaces:
            yield dict(z=round(draw.uniform(-3, 3), 1), value=round(draw.uniform(-3, 3), 1))
        else:
            yield dict(first=draw.choice(shazeer.VARIANTS), second=draw.choice(shazeer.VARIANTS), borrow=draw.random() < 0.5)


@pytest.mark.parametrize("figure", FIGURES)
def test_nothing_is_left_behind_by_a_walk_through_the_controls(figure):
    walk = figure.default()
    walk.still_svg()
    for number, state in enumerate(states(figure, 7, 100)):
        walk.set(**state)
        if number % 50 == 49:
            fresh = type(walk)(**walk.values)
            fresh.still_svg()
            assert bare(walk.moving_svg()) == bare(fresh.moving_svg())
    assert walk.png(1) == fresh.png(1)
    assert walk.set(**figure.default().values).png(1) == figure.default().png(1)


@pytest.mark.parametrize("figure", FIGURES)
def test_every_state_is_readable_and_small(figure):
    picture = figure.default()
    picture.still_svg()
    ends = {gated_ffn: [dict(gate="identity", z=-2, value=-2, d_ff=256), dict(gate="sigmoid", z=2, value=2, d_ff=2048)],
            gate_surfaces: [dict(z=-3, value=-3), dict(z=3, value=-3)],
            shazeer: [dict(first=a, second=b, borrow=True) for a in shazeer.VARIANTS for b in shazeer.VARIANTS[::3]]}[figure]
    for state in ends + list(states(figure, 3, 12)):
        picture.set(**state)
        labels = Recorder(picture).labels
        assert not off_page(labels, picture.size) and not overlaps(labels), state
        assert len(picture.alt.split()) <= 40 and re.search(r"\d", picture.alt)
        assert len(picture.moving_svg()) < 40_000, state


@pytest.mark.parametrize("figure, bad, error, words", [
    (gated_ffn, dict(d_ff=255), ValueError, "d_ff is 255"), (gated_ffn, dict(d_ff=1000.5), ValueError, "whole number"),
    (gated_ffn, dict(gate="swish"), ValueError, "known are silu"), (gated_ffn, dict(z=2.5), ValueError, "z"), (gated_ffn, dict(value="much"), TypeError, "value"),
    (gated_ffn, dict(W=np.zeros((32, 8))), ValueError, r"W has shape \(32, 8\), expected \(8, 32\)"), (gated_ffn, dict(z=float("nan")), ValueError, "z"),
    (gate_surfaces, dict(z=4), ValueError, "z"), (gate_surfaces, dict(value=None), TypeError, "value"),
    (shazeer, dict(first="Swish"), ValueError, "first is 'Swish', expected one of ReLU"), (shazeer, dict(borrow=1), TypeError, "borrow"),
    (shazeer, dict(table={"ReLU": (1, 2, 3)}), ValueError, "table must hold"),
    (shazeer, dict(table={**TABLE1, "GLU": (1, 2)}), ValueError, r"table of GLU has shape \(2,\)")])
def test_refused_input_leaves_the_picture_as_it_was(figure, bad, error, words):
    picture = published(figure)
    before = picture.moving_svg()
    with pytest.raises(error, match=words):
        picture.set(**bad)
    assert picture.moving_svg() == before
