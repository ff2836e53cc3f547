"""The pictures of notebook 07: their numbers against torch, their words, and no state left behind."""
import itertools
import random
import re

import numpy as np
import pytest
import torch

from figures import encoder_layer, meeting, rank_collapse
from tests.drawing import Recorder, bare, off_page, overlaps, published

STATES = [dict(zip(("order", "attention", "ffn", "residual", "norm"), state))
          for state in itertools.product(encoder_layer.ORDERS, *[(True, False)] * 4)]
FIGURES = [encoder_layer, rank_collapse, meeting]


@pytest.fixture(scope="module")
def layer():
    return encoder_layer.default()


@pytest.fixture(scope="module")
def collapse():
    return rank_collapse.default()


def moved_states(figure, picture):
    return {"encoder_layer": STATES, "rank_collapse": [dict(start=name) for name in picture.values.get("names", ())],
            "meeting": [dict(layer=i) for i in range(1, 7)]}[figure.__name__.split(".")[-1]]


def reset(picture):
    return picture.set(order="post", attention=True, ffn=True, residual=True, norm=True)


# ---------------------------------------------------------------- the encoder layer

@pytest.mark.parametrize("order", ["post", "pre"])
def test_published_numbers_are_those_of_torchs_own_layer(order, layer):
    """The published stack rebuilt from the same draws out of nn.TransformerEncoderLayer."""
    rng = np.random.default_rng(3)
    start = lambda *shape, n: torch.as_tensor(rng.uniform(-1, 1, shape) / n ** 0.5)
    stack = []
    for _ in range(12):
        W, b, W1, b1, W2, b2 = (start(4, 16, 16, n=16), start(4, 16, n=16), start(16, 64, n=16), start(64, n=16), start(64, 16, n=64), start(16, n=64))
        one = torch.nn.TransformerEncoderLayer(16, 2, 64, dropout=0, batch_first=True, norm_first=order == "pre").double()
        for weight, value in [(one.self_attn.in_proj_weight, torch.cat([w.T for w in W[:3]])), (one.self_attn.in_proj_bias, b[:3].reshape(-1)),
                              (one.self_attn.out_proj.weight, W[3].T), (one.self_attn.out_proj.bias, b[3]), (one.linear1.weight, W1.T),
                              (one.linear1.bias, b1), (one.linear2.weight, W2.T), (one.linear2.bias, b2)]:
            weight.data = value.clone()
        stack.append(one)
    x, probe = torch.as_tensor(rng.normal(size=(2, 3, 16)))
    stream = [x.clone().requires_grad_()]
    for one in stack:
        stream.append(one(stream[-1][None])[0])
    slopes = torch.autograd.grad((stream[-1] * probe).sum(), stream)
    at = (list(encoder_layer.ORDERS).index(order), 1, 1, 1, 1)
    size = [v.square().mean().sqrt().item() for v in stream]
    spread = [((v - v.mean(0)).norm() / v.norm()).item() for v in stream]
    assert np.allclose(layer.values["size"][at], size, rtol=1e-6)
    assert np.allclose(layer.values["spread"][at], spread, rtol=1e-6)
    assert np.allclose(layer.values["gradient"][at], [(g.norm() / slopes[-1].norm()).item() for g in slopes], rtol=1e-6)
    J = torch.autograd.functional.jacobian(lambda x: stack[0](x[None])[0], x.detach())
    assert np.allclose(layer.values["reach"][at][2], torch.linalg.vector_norm(J, dim=(1, 3)), rtol=1e-6)


def test_tokens_meet_only_through_attention(layer):
    across = ~np.eye(3, dtype=bool)
    for at in np.ndindex(3, 2, 2, 2, 2):
        reach = layer.values["reach"][at]
        assert (reach[2][across] > 0).all() == bool(at[1]) and (reach[2][across] == 0).all() == (not at[1])
        mixed = at[1] and at[0] < 2                    # a parallel layer's FFN reads what attention has not mixed
        assert (reach[1][across] > 0).all() == bool(mixed)


@pytest.mark.parametrize("state", STATES[::5], ids=str)
def test_curves_bands_and_bars_are_the_numbers(state, layer):
    layer.set(**state)
    at = layer.at
    drawn = layer.curve.get_path().vertices.reshape(3, -1, 2)
    for k, name in enumerate(("size", "spread", "gradient")):
        low, high = encoder_layer.LIMITS[name]
        back = low + (high - low) * (1 - (drawn[k, :, 1] - encoder_layer.PLOT_Y[k]) / encoder_layer.PLOT_H)
        want = layer.values[name][at]
        assert np.allclose(10 ** back if name == "gradient" else back, want, atol=1e-9, rtol=1e-6), name
    for head, bands in enumerate(layer.bands):
        shapes = bands.get_path().vertices
        if not state["attention"]:
            assert not len(shapes)
            continue
        shapes = shapes.reshape(9, -1, 2)
        widths = [abs(shape[0, 0] - shape[21, 0]) for shape in shapes]      # 11 points down one side and back
        assert np.allclose(widths, 9 * layer.values["weights"][at][head].ravel(), atol=1e-9)
    bars = layer.bars.get_path().vertices
    tallest = 0 if not len(bars) else np.ptp(bars.reshape(-1, 5, 2)[:, :, 1], axis=1).max()
    assert tallest == pytest.approx(state["ffn"] * 38 * layer.values["hidden"][at].max() / layer.values["hidden"].max())


def test_rows_follow_the_order(layer):
    middle = lambda: {name: y + height / 2 for name, (y, height) in layer.rows.items()}
    for order, rows in [("post", ["attention", "add1", "norm1", "ffn", "add2", "norm2"]), ("pre", ["norm1", "attention", "add1", "norm2", "ffn", "add2"]),
                        ("parallel", ["norm1", "attention", "read", "ffn", "add2"])]:
        layer.set(order=order)
        places = [middle()[name] for name in rows]
        assert places == sorted(places)
        assert max(y + height for y, height in layer.rows.values()) == pytest.approx(encoder_layer.BOTTOM)


def test_the_default_says_what_it_shows(layer):
    reset(layer)
    v, at = layer.values, (0, 1, 1, 1, 1)
    two = lambda name, i: f"{v[name][at][i]:.2f}".rstrip("0").rstrip(".")
    assert layer.title.startswith("Post-norm")
    assert layer.sentence == (f"12 layers: size {two('size', 0)} → {two('size', -1)}, spread {two('spread', 0)} → {two('spread', -1)}; "
                              f"the gradient at the input is {two('gradient', 0)} times that at the end.")
    texts = [label.text for label in Recorder(layer).labels]
    assert texts.count("norm") == 6 and texts.count("Add, then norm") == 2 and "norm(x + FFN)" in texts and "W1, b1" in texts
    layer.set(order="pre")
    texts = [label.text for label in Recorder(layer).labels]
    assert layer.title.startswith("Pre-norm") and "x + FFN(norm)" in texts and "Add, then norm" not in texts
    layer.set(order="parallel")
    texts = [label.text for label in Recorder(layer).labels]
    assert layer.title.startswith("Parallel") and "x + attention + FFN" in texts and "each holds only itself" in texts


def test_parts_that_are_off_are_named_and_gone(layer):
    layer.set(order="pre", attention=False, ffn=True, residual=True, norm=True)
    assert layer.title == "Pre-norm without attention: the tokens never meet"
    assert layer.sentence.count("spread") == 1 and "unmixed" in layer.alt
    layer.set(attention=True, residual=False, norm=False)
    assert layer.title == "In sequence without residuals and norm: 12 layers make the tokens one"
    assert not len(layer.cable.get_path().vertices) and not any(text.get_text() for text in layer.norms)
    layer.set(residual=True, norm=True, ffn=False, attention=False)
    assert layer.sentence.endswith("the gradient at the input is 1 times that at the end.")


def test_without_norm_post_and_pre_are_one_layer(layer):
    for name in ("size", "spread", "gradient"):
        assert np.array_equal(layer.values[name][0, ..., 0, :], layer.values[name][1, ..., 0, :])


@pytest.mark.parametrize("state", STATES, ids=str)
def test_words_fit_numbers_with_small_exponents(state, layer):
    """The notebook's own numbers are smaller than the published ones, and "4 · 10⁻⁸" is three words."""
    v = layer.values
    fade = np.geomspace(1, 4e-8, v["size"].shape[-1])
    small = type(layer)(**{**v, **state, "size": v["size"] * fade * 4e-3, "spread": v["spread"] * fade, "gradient": v["gradient"].clip(4e-19, 4e-8)})
    assert len(small.alt.split()) <= 40 and small.alt.count("10⁻") >= 3, small.alt
    words = [label.text for label in Recorder(small).labels]
    assert ("What the FFN reads" not in words or state["ffn"] or state["order"] == "parallel") and small.alt.count("FFN") <= 1


# ---------------------------------------------------------------- rank collapse

def test_distances_are_those_of_torchs_attention(collapse):
    rng = np.random.default_rng(0)
    x = torch.as_tensor(rng.normal(size=(32, 64)))
    for depth in range(4):
        if depth:
            Wq, Wk, Wv, Wo = torch.as_tensor(rng.normal(size=(12, 64, 64))[:4] / 8)      # the others are an MLP's, not used
            q, k, v = ((x @ W).unflatten(1, (4, 16)).transpose(0, 1) for W in (Wq, Wk, Wv))
            x = torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(0, 1).flatten(1) @ Wo
        want = ((x - x.mean(0)).norm() / x.norm()).item()
        assert collapse.values["distance"][0, 0, 0, depth] == pytest.approx(want, rel=1e-3)


def test_skips_hold_tokens_apart_and_mlps_do_not(collapse):
    median = np.median(collapse.values["distance"], axis=2)
    assert collapse.values["distance"].shape[2] >= 5
    assert median[0, :2, 3].max() < 1e-4 and median[0, :2, 5].max() < 1e-10 and median[0, 2:, 12].min() > 0.03
    assert median[1, 0, 3] > 0.05                      # larger queries: the same, later


def test_curves_are_medians_and_words_follow_the_start(collapse):
    for s, name in enumerate(collapse.values["names"]):
        collapse.set(start=name)
        median = np.median(collapse.values["distance"][s], axis=1)
        drawn = np.concatenate([collapse.dotted.get_path().vertices.reshape(2, 2, 13, 2), collapse.solid.get_path().vertices.reshape(2, 2, 13, 2)], axis=1)
        top, height = rank_collapse.LINEAR
        assert np.allclose((1 - (drawn[0, :, :, 1] - top) / height) * 1.05, median, atol=1e-9)
        top, height = rank_collapse.LOG
        decades = rank_collapse.LOWEST + (1 - (drawn[1, :, :, 1] - top) / height) * (rank_collapse.HIGHEST - rank_collapse.LOWEST)
        assert np.allclose(decades, np.log10(median).clip(np.log10(rank_collapse.ROUNDING)), atol=1e-9)        # what is only rounding stands on its edge
        fallen = int(np.argmax((median[:2] < 1e-9).all(axis=0)))
        assert f"within {fallen} layers" in collapse.title and collapse.footer.get_text().startswith(f"Start: {name}.")
        for value in (median[2, 3], median[3, 3], median[2, 12], median[3, 12]):
            assert f"{value:.2f}".rstrip("0") in collapse.sentence
    collapse.set(start=collapse.values["names"][0])


def test_clouds_shrink_with_the_distance(collapse):
    spread = collapse.values["clouds"][0].std(axis=2).mean(axis=-1)
    assert spread[0, 4] < 1e-6 * spread[0, 0] and spread[1, 4] > 0.1 * spread[1, 0]


# ---------------------------------------------------------------- the meeting

def test_meeting_shows_its_arrays_layer_by_layer():
    picture = meeting.default()
    v = picture.values
    for at in range(6):
        picture.set(layer=at + 1)
        kept = v["notes"][at] + v["result"][at]
        top = max(np.abs(a).max() for a in (v["notes"][at], v["result"][at], kept))
        for name, rows, unit in (("notes", v["notes"][at], meeting.HALF / top), ("kept", kept, meeting.HALF / top),
                                 ("scratch", v["scratch"][at], 2 * meeting.HALF / v["scratch"][at].max())):
            bars = picture.bars[name]
            up = bars.up.get_path().vertices.reshape(-1, 5, 2)
            lengths = up[:, 0, 1] - up[:, 2, 1]
            assert np.allclose(lengths, rows[rows > 0] * unit, atol=1e-9), name
        off = v["weights"][at] * (1 - np.eye(4))
        i, j = np.unravel_index(off.argmax(), (4, 4))
        assert picture.sentence.startswith(f"Layer {at + 1} of 6: “{v['names'][i]}” listens most to “{v['names'][j]}” ({off[i, j]:.2f}".rstrip("0"))
        assert f"{(v['scratch'][at] > 0).sum()} of 128" in picture.sentence and picture.number.get_text() == f"book of layer {at + 1}"
        widths = [np.ptp(picture.bars[name].x) + meeting.BAR for name in ("notes", "scratch")]
    assert sum(text.get_text() == "W1, b1" for text in picture.page.texts) == 1          # one book for four tokens
    assert np.ptp(picture.bars["scratch"].x[:32]) / 31 == np.ptp(picture.bars["notes"].x[:8]) / 7 and widths[1] > widths[0]


# ---------------------------------------------------------------- all three

@pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.__name__)
def test_every_state_keeps_its_texts_apart_and_on_the_page(figure):
    picture = figure.default()
    picture.still_svg()
    for state in moved_states(figure, picture):
        picture.set(**state)
        labels = Recorder(picture).labels
        assert not off_page(labels, picture.size), state
        assert not overlaps(labels), state
        assert len(picture.alt.split()) <= 40 and re.search(r"\d", picture.alt), state
        assert len(picture.moving_svg()) < 45_000


@pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.__name__)
def test_nothing_is_left_behind_by_a_walk_through_the_controls(figure):
    walk, draw = figure.default(), random.Random(11)
    walk.still_svg()
    states = moved_states(figure, walk)
    for _ in range(100):
        walk.set(**draw.choice(states))
    fresh = type(walk)(**walk.values)
    fresh.still_svg()
    assert bare(walk.moving_svg()) == bare(fresh.moving_svg())
    assert walk.png(1) == fresh.png(1)


@pytest.mark.parametrize("figure, bad, error, words", [
    (encoder_layer, dict(order="sideways"), ValueError, "order must be one of post, pre, parallel"), (encoder_layer, dict(norm=1), TypeError, "norm"),
    (encoder_layer, dict(ffn="no"), TypeError, "ffn"), (encoder_layer, dict(weights=np.zeros((3, 2, 2, 2, 2, 1, 3, 3))), ValueError, "weights has shape"),
    (encoder_layer, dict(size=np.full((3, 2, 2, 2, 2, 13), 4.0)), ValueError, "size runs from 4 to 4, expected 0 to 3"),
    (encoder_layer, dict(gradient=np.zeros((3, 2, 2, 2, 2, 13))), ValueError, "gradient runs from"),
    (encoder_layer, dict(spread=np.full((3, 2, 2, 2, 2, 13), np.nan)), ValueError, "spread"), (encoder_layer, dict(names=("a", "b")), ValueError, "names"),
    (rank_collapse, dict(start="cold"), ValueError, "start must be one of"), (rank_collapse, dict(names=()), ValueError, "names"),
    (rank_collapse, dict(distance=np.full((3, 4, 5, 13), -0.1)), ValueError, "distance"), (rank_collapse, dict(clouds=np.zeros((3, 2, 12, 12, 2))), ValueError, "clouds has shape"),
    (meeting, dict(layer=7), ValueError, "layer is 7, expected a whole number from 1 to 6"), (meeting, dict(layer=0), ValueError, "layer"),
    (meeting, dict(weights=np.ones((6, 4, 4))), ValueError, "sum to 1"), (meeting, dict(scratch=np.full((6, 4, 32), -1.0)), ValueError, "scratch"),
    (meeting, dict(notes=np.zeros((6, 4, 9))), ValueError, "notes has shape"), (meeting, dict(names=("a",) * 3), ValueError, "names")])
def test_refused_input_leaves_the_picture_as_it_was(figure, bad, error, words):
    picture = published(figure)
    before, values = picture.moving_svg(), dict(picture.values)
    with pytest.raises(error, match=words):
        picture.set(**bad)
    assert picture.moving_svg() == before and all(np.array_equal(values[name], picture.values[name]) for name in values)
