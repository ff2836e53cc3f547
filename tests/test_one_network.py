"""The pictures of notebook 04: their numbers against torch, their words, and no state left behind."""
import random
import re

import numpy as np
import pytest
import torch

from figures import jacobian_blocks, one_network, parameter_growth, who_reads_whom
from tests.drawing import bare, published

ORDERS = [(0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 1, 0), (0, 0, 0)]
FIGURES = [one_network, jacobian_blocks, who_reads_whom, parameter_growth]


def shown(picture):
    return sorted(text.get_text() for text in picture.figure.findobj(lambda a: hasattr(a, "get_text")) if text.get_text())


def layer(values, attention_first):
    """The same block in torch, all rows at once, written apart from the picture's own code."""
    v = {name: torch.as_tensor(value) for name, value in values.items() if isinstance(value, np.ndarray)}

    def run(x):
        if attention_first:
            x = x + torch.nn.functional.scaled_dot_product_attention(x @ v["Wq"], x @ v["Wk"], x @ v["Wv"]) @ v["Wo"]
        return torch.nn.functional.linear(torch.relu(x @ v["W1"] + v["b1"]), v["W2"].T, v["b2"])
    return run


def heights(bars):
    """Signed bar lengths in pixels, read from the drawn paths; 24 or 96 numbers, row after row."""
    found = np.zeros(len(bars.x))
    for patch in (bars.up, bars.down):
        corners = patch.get_path().vertices.reshape(-1, 5, 2)
        for rectangle in corners:
            at = np.flatnonzero(np.isclose(bars.x, rectangle[0, 0]) & np.isclose(bars.base, rectangle[0, 1]))
            found[at[0]] = rectangle[0, 1] - rectangle[2, 1]
    return found


@pytest.mark.parametrize("attention_first", [False, True])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("place, nudge", [(1, -1), (2, 0), (3, 0.35)])
def test_bars_show_what_torch_computes(order, place, nudge, attention_first):
    picture = published(one_network).set(order=order, place=place, nudge=nudge, attention_first=attention_first)
    x = torch.as_tensor(picture.values["x"])[list(order)]
    step = torch.zeros(3, 8, dtype=x.dtype)
    step[place - 1] = nudge * torch.as_tensor(picture.values["direction"])
    run = layer(picture.values, attention_first)
    reach = picture._reach()[0]
    for name, want in [("x", x + step), ("y", run(x + step)), ("Δy", run(x + step) - run(x))]:
        drawn = heights(picture.bars[name]) * reach[name] / one_network.HALF
        assert np.abs(drawn - want.numpy().ravel()).max() < 1e-9, name


def test_only_the_nudged_lane_moves_without_attention_and_all_with_it():
    picture = one_network.default()
    for place in (1, 2, 3):
        flat = lambda name: [not heights(picture.bars[name]).reshape(3, -1)[row].any() for row in range(3)]
        picture.set(place=place, attention_first=False)
        for name in ("Δx", "Δh", "Δy"):
            assert flat(name) == [row != place - 1 for row in range(3)]
            assert [text.get_text() != "" for text in picture.zeros[name]] == flat(name)
        assert [text.get_text() for text in picture.counts[0]] == ["3 of 9 move;", "0 of 6 across rows"]
        picture.set(attention_first=True)
        assert not any(flat("Δy")) and not any(text.get_text() for text in picture.zeros["Δy"])
        assert [text.get_text() for text in picture.counts[1]] == ["9 of 9 move;", "6 of 6 across rows"]


@pytest.mark.parametrize("attention_first", [False, True])
def test_grid_is_the_derivative_that_autograd_gives(attention_first):
    picture = one_network.default()
    x, direction = (torch.as_tensor(picture.values[name]) for name in ("x", "direction"))
    J = torch.autograd.functional.jacobian(layer(picture.values, attention_first), x)
    want = torch.linalg.vector_norm(torch.einsum("iajb,b->iaj", J, direction), dim=1)
    got = one_network._influence(picture.values["x"], picture.values, attention_first)
    assert np.abs(got - want.numpy()).max() < 1e-9


def test_no_state_of_the_controls_runs_out_of_its_lane_or_the_page():
    picture = one_network.default()
    limit = one_network.HALF + 1e-9
    canvas = picture.figure.canvas.get_renderer()
    for order in ORDERS + [(1, 2, 0), (2, 2, 1), (1, 1, 1)]:
        for attention_first in (False, True):
            for place, nudge in [(1, -1.0), (1, 0.6), (2, 0.0), (2, 1.0), (3, -0.55), (3, 1.0)]:
                picture.set(order=order, place=place, nudge=nudge, attention_first=attention_first)
                assert all(np.abs(heights(bars)).max() <= limit for bars in picture.bars.values())
                assert len(picture.alt.split()) <= 40
                assert picture._sentence.get_window_extent(canvas).x1 < 985, picture.sentence
                assert picture._title.get_window_extent(canvas).x1 < 985, picture.title


def test_the_default_says_what_it_shows():
    picture = one_network.default()
    own = np.abs(heights(picture.bars["Δy"])).max() * picture._reach()[0]["Δy"] / one_network.HALF
    assert picture.sentence == ("Nudge “cat” at place 2 by +1.00: only its own row moves, by up to "
                                f"{own:.2f}".rstrip("0") + "; the other two change by exactly 0.")
    assert shown(picture) == sorted([
        "0", "0", "0", "0", "exactly 0", "exactly 0", "1", "2", "3", "the", "cat", "sat", "nudge +1.00",
        "x", "Δx", "Δh", "Δy", "y", "W1, b1", "W2, b2", "one FFN: same W1, b1, W2, b2", "no attention",
        "full: 3.1", "full: 2.1", "full: 2.2", "full: 1.8", "full: 3", "off: each row goes straight on", "FFN: along its own row, feature to feature",
        "Which rows of y move?", "across: the token that is nudged", "down: the row of y", "area: how far it moves,",
        "per unit of nudge", "FFN alone", "3 of 9 move;", "0 of 6 across rows", "attention first", "9 of 9 move;", "6 of 6 across rows",
        "Δ is what the nudge changes. Bars: up positive, down negative. Full: what a bar to the edge of its lane stands for.",
        picture.title, picture.sentence])


def test_attention_has_a_key_and_is_off_without_one():
    picture = one_network.default()
    words = lambda: {text for text in shown(picture) if "across rows" in text or "thickness" in text} - {"0 of 6 across rows", "6 of 6 across rows"}
    assert not words() and not len(picture.across.get_path().vertices)
    picture.set(attention_first=True)
    assert words() == {"attention: across rows", "thickness: weight; black: from the nudged row"}
    assert len(picture.across.get_path().vertices)


@pytest.mark.parametrize("nudge, said", [(0.05, "+0.05"), (-0.05, "−0.05"), (0.001, "+0.001"), (0.25, "+0.25")])
@pytest.mark.parametrize("attention_first", [False, True])
def test_a_small_nudge_is_said_with_two_digits_that_count(nudge, said, attention_first):
    picture = one_network.default().set(nudge=nudge, attention_first=attention_first)
    moved = np.abs(heights(picture.bars["Δy"])).reshape(3, 8).max(axis=1) * picture._reach()[0]["Δy"] / one_network.HALF
    assert f"by {said}:" in picture.sentence
    found = [float(size) for size in re.findall(r"by up to (\d[\d.]*\d)", picture.sentence)]
    want = [moved[1]] + [max(moved[0], moved[2])] * attention_first
    assert found == pytest.approx(want, rel=0.05)


def test_swap_and_copy_are_said_and_are_true():
    picture = one_network.default()
    y = heights(picture.set(nudge=0).bars["y"]).reshape(3, 8)
    swapped = picture.set(order=(1, 0, 2))
    assert np.allclose(heights(swapped.bars["y"]).reshape(3, 8), y[[1, 0, 2]], rtol=0, atol=1e-9)
    assert "Swapped tokens" in picture.title and picture.sentence.endswith("difference exactly 0.")
    picture.set(order=(0, 1, 0))
    assert np.allclose(heights(picture.bars["y"]).reshape(3, 8), y[[0, 1, 0]], rtol=0, atol=1e-9)
    assert "same token gives the same output" in picture.title and picture.same_name.get_text() == "same y"
    picture.set(place=3, nudge=0.5)
    assert picture.same_name.get_text() == ""


def test_nothing_is_left_behind_by_a_walk_through_the_controls():
    walk, random_state = one_network.default(), random.Random(7)
    walk.still_svg()
    for step in range(100):
        state = dict(order=random_state.choice(ORDERS), place=random_state.randint(1, 3),
                     nudge=round(random_state.uniform(-1, 1), 2), attention_first=random_state.random() < 0.5,
                     b1=np.full(32, 0.5 * (step // 25)))
        walk.set(**state)
    fresh = one_network.OneNetwork(**walk.values)
    fresh.still_svg()
    assert bare(walk.moving_svg()) == bare(fresh.moving_svg())
    assert walk.png() == fresh.png()
    back = walk.set(**one_network.default().values)
    assert back.png() == one_network.default().png()


def test_every_drawing_finds_its_glyphs_in_itself_or_in_what_stays():
    picture = one_network.default()
    stays = picture.still_svg()
    for state in [dict(nudge=0, order=(1, 0, 2)), dict(order=(0, 1, 0)), dict(attention_first=True, nudge=-0.5), dict(nudge=0)]:
        moves = picture.set(**state).moving_svg()
        used = set(re.findall(r'(?:href="|url\()#([^")]+)', moves))
        assert used and used <= set(re.findall(r' id="([^"]+)"', stays + moves)), state


@pytest.mark.parametrize("bad, error, words", [
    (dict(nudge=2), ValueError, "nudge"), (dict(nudge="much"), TypeError, "nudge"), (dict(nudge=float("nan")), ValueError, "nudge"),
    (dict(place=4), ValueError, "place"), (dict(order=(0, 1)), ValueError, "order"), (dict(order=(0, 1, 3)), ValueError, "order"),
    (dict(attention_first="yes"), TypeError, "attention_first"), (dict(x=np.zeros((3, 7))), ValueError, r"x has shape \(3, 7\)"),
    (dict(W2=np.zeros((8, 32))), ValueError, r"W2 has shape \(8, 32\), expected \(32, 8\)"), (dict(names=("a", "b")), ValueError, "names")])
def test_refused_input_leaves_the_picture_as_it_was(bad, error, words):
    picture = published(one_network).set(nudge=0.4)
    before = picture.moving_svg()
    with pytest.raises(error, match=words):
        picture.set(**bad)
    assert picture.values["nudge"] == 0.4 and picture.moving_svg() == before


@pytest.mark.parametrize("figure", FIGURES)
def test_each_picture_has_words_and_stays_small(figure):
    picture = figure.default()
    assert picture.title and picture.sentence and len(picture.alt.split()) <= 40 and re.search(r"\d", picture.alt)
    canvas = picture.figure.canvas.get_renderer()
    for text in picture.figure.findobj(lambda a: hasattr(a, "get_text")):
        if text.get_text():
            box = text.get_window_extent(canvas)
            assert 0 <= box.x0 and box.x1 <= picture.size[0] and 0 <= box.y0 and box.y1 <= picture.size[1], text.get_text()
    picture.still_svg()
    assert len(picture.moving_svg()) < 60_000


def test_jacobian_blocks_count_what_is_not_zero():
    picture = jacobian_blocks.default()
    assert [text.get_text() for text in picture.counts] == ["4 of 16 blocks are not 0", "16 of 16 blocks are not 0"]
    assert sum(text.get_text() == "0" for text in picture.zeros) == 12
    ffn = picture.values["ffn"]
    assert len(picture.positive.get_path().vertices) == 5 * ((ffn > 0).sum() + (picture.values["attention"] > 0).sum())
    mixed = ffn.copy()
    mixed[0, 0, 3, 0] = 0.25
    picture.set(ffn=mixed)
    assert picture.counts[0].get_text() == "5 of 16 blocks are not 0" and "0.25 in the FFN" in picture.sentence
    assert "alone" not in picture.title and "diagonal" not in picture.alt
    assert picture.png() == jacobian_blocks.JacobianBlocks(**picture.values).png()
    with pytest.raises(ValueError, match="attention has shape"):
        picture.set(attention=np.zeros((3, 6, 3, 6)))


def test_who_reads_whom_counts_the_row_of_the_reader():
    picture = who_reads_whom.default()
    for reader, want in [(1, (1, 2, 1, 8)), (5, (1, 3, 5, 8)), (8, (1, 2, 8, 8))]:
        picture.set(reader=reader)
        assert tuple(int(n) for n in re.findall(r"(\d+) (?:tokens? )?in", picture.sentence)) == want
    assert [text.get_text() for text in picture.counts] == ["8 of 64", "22 of 64", "36 of 64", "64 of 64"]
    assert picture.png() == who_reads_whom.WhoReadsWhom(**picture.values).png()
    with pytest.raises(ValueError, match="reader"):
        picture.set(reader=9)


def test_parameter_growth_multiplies():
    picture = parameter_growth.default()
    assert "1,075,052,544" in picture.sentence and picture.private.get_text() == "1,075,052,544"
    picture.set(length=2)
    assert picture.private.get_text() == f"{2 * 2_099_712:,}" and picture.shared.get_text() == "2,099,712"
    top, height = parameter_growth.PLOT["y"], parameter_growth.PLOT["height"]
    assert list(picture.flat.get_ydata()) == [top + height / 2] * 2      # half of what two private ones hold
    with pytest.raises(ValueError, match="length"):
        picture.set(length=0)


@pytest.mark.parametrize("parameters, length, want", [
    (2_099_712, 512, ["0", "200 million", "400 million", "600 million", "800 million", "1 billion"]),
    (4_722_432, 3, ["0", "2.5 million", "5 million", "7.5 million", "10 million", "12.5 million"]),
    (7, 4096, ["0", "5,000", "10,000", "15,000", "20,000", "25,000"]), (1, 2, ["0", "0.5", "1", "1.5", "2"])])
def test_parameter_growth_has_round_ticks_at_their_height(parameters, length, want):
    picture = parameter_growth.default().set(parameters=parameters, length=length)
    levels = [level for level in picture.levels if level.get_text()]
    assert [level.get_text() for level in levels] == want
    plot, unit = parameter_growth.PLOT, {"million": 1e6, "billion": 1e9}
    for level in levels:
        number, _, word = level.get_text().replace(",", "").partition(" ")
        share = float(number) * unit.get(word, 1) / (parameters * length)
        assert level.get_position()[1] == pytest.approx(plot["y"] + plot["height"] * (1 - share))
