"""The pictures of notebook 03: numbers against independent computation, words, redraws, refused input."""
import math
import re

import numpy as np
import pytest
from matplotlib.text import Text

from figures import expand_cut_contract, rank_ratio, width_fit, width_ratios, width_shapes
from tests.drawing import Recorder, off_page, overlaps

MODULES = expand_cut_contract, rank_ratio, width_fit, width_ratios, width_shapes
WIDTHS, ACTIVATIONS, SHIFTS = (128, 512, 1024, 2048, 3072), ("relu", "gelu", "silu", "identity"), (-1, -0.5, 0, 0.3, 1)


@pytest.fixture(scope="module")
def picture():
    return expand_cut_contract.default()


@pytest.fixture(autouse=True)
def at_the_start(picture):
    picture.set(d_ff=2048, unit=11, activation="relu", shift=0)


def texts(picture):
    return sorted(text.get_text() for text in picture.figure.findobj(Text) if text.get_text() and text.get_visible())


def z_of(values):
    """z by a plain sum, not by the picture's matrix product."""
    x, W1 = np.float64(values["x"]), np.float64(values["W1"][:, :values["d_ff"]])
    return np.einsum("i,ij->j", x, W1) + values["b1"][:values["d_ff"]] + values["shift"]


def spans(path):
    """Height of each closed piece of a compound path."""
    pieces = np.split(path.vertices, np.flatnonzero(path.codes == path.MOVETO)[1:])
    return [np.ptp(piece[:, 1]) for piece in pieces]


# ---- numbers

@pytest.mark.parametrize("d_ff", WIDTHS)
@pytest.mark.parametrize("shift", SHIFTS)
def test_the_sentence_counts_the_cut_units(picture, d_ff, shift):
    picture.set(d_ff=d_ff, shift=shift)
    cut = int((z_of(picture.values) <= 0).sum())
    assert f"{cut:,} of {d_ff:,} units are cut ({100 * cut / d_ff:.0f} %), the other {d_ff - cut:,} pass" in picture.sentence
    assert {f"{cut:,} cut to 0", f"{d_ff - cut:,} kept", f"{2 * 512 * d_ff + d_ff + 512:,} parameters"} <= set(texts(picture))


def test_with_random_weights_and_no_bias_about_half_is_cut(picture):
    assert 0.45 < (z_of(picture.values) <= 0).mean() < 0.55


@pytest.mark.parametrize("d_ff", WIDTHS)
def test_widths_are_to_scale(picture, d_ff):
    picture.set(d_ff=d_ff)
    boxes = picture.bands.get_path().vertices
    trapezoid = picture.weights.get_path().vertices[:4]
    narrow, wide = trapezoid[1, 0] - trapezoid[0, 0], trapezoid[2, 0] - trapezoid[3, 0]
    assert math.isclose(np.ptp(boxes[:, 0]) / narrow, d_ff / 512) and math.isclose(wide / narrow, d_ff / 512)


def test_the_curve_of_z_is_sorted_and_ends_at_its_extremes(picture):
    z, curve = np.sort(z_of(picture.values))[::-1], picture.up.get_path().vertices
    unit = (expand_cut_contract.BAND / 2 - 4) / (np.abs(picture.fixed()[0]).max() + 1)
    middle = expand_cut_contract.Y_Z + expand_cut_contract.BAND / 2
    top = curve[(curve[:, 0] < 700) & (abs(curve[:, 1] - middle) < expand_cut_contract.BAND / 2)]
    assert math.isclose(middle - top[:, 1].min(), z[0] * unit, rel_tol=1e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_hatched_is_what_the_activation_takes(picture, activation):
    picture.set(activation=activation)
    z = z_of(picture.values)
    gone = {"relu": np.minimum(z, 0), "gelu": z - z * np.vectorize(math.erfc)(-z / math.sqrt(2)) / 2,
            "silu": z - z / (1 + np.exp(-z)), "identity": 0 * z}[activation]
    unit = (expand_cut_contract.BAND / 2 - 4) / (np.abs(picture.fixed()[0]).max() + 1)
    bars = [height for height in (spans(picture.ghost.get_path()) if gone.any() else [])][1 if activation == "relu" else 1:]
    wanted = [abs(value) * unit for value in gone[:16] if value]
    assert np.allclose(bars, wanted, atol=1e-3)


def test_no_bar_leaves_its_box(picture):
    top, low = expand_cut_contract.Y_Z, expand_cut_contract.Y_H + expand_cut_contract.BAND
    for d_ff in WIDTHS:
        for activation in ACTIVATIONS:
            for shift in (-1, 0, 1):
                for unit in (0, 64, 127):
                    picture.set(d_ff=d_ff, activation=activation, shift=shift, unit=unit)
                    for artist in (picture.up, picture.down, picture.ghost):
                        y = artist.get_path().vertices[:, 1]
                        strips = np.abs(y - expand_cut_contract.Y_X), np.abs(y - expand_cut_contract.Y_Y), \
                            np.abs(y - expand_cut_contract.Y_COLUMN), np.abs(y - expand_cut_contract.Y_ROW)
                        inside = ((y >= top) & (y <= low)) | (np.min(strips, 0) <= expand_cut_contract.STRIP + 1e-6)
                        assert inside.all()


def test_a_cut_unit_writes_nothing_and_a_kept_one_is_lit(picture):
    z = z_of(picture.values)
    off, on = int(np.flatnonzero(z < 0)[0]), int(np.flatnonzero(z > 0)[0])
    assert "and writes nothing" in texts(picture.set(unit=off)) and len(spans(picture.wedges.get_path())) == 1
    assert "and writes" in texts(picture.set(unit=on)) and len(spans(picture.wedges.get_path())) == 2


@pytest.mark.parametrize("setting", [dict(), dict(d_ff=128), dict(shift=-1), dict(activation="identity"), dict(unit=4)])
def test_y_fills_its_strip_and_its_size_is_said(picture, setting):
    v = picture.set(**setting).values
    h = expand_cut_contract.fh.activate(z_of(v), v["activation"])
    y = h @ np.float64(v["W2"][:v["d_ff"]]) + v["b2"]
    assert f"512 numbers within ±{expand_cut_contract.fh.num(np.abs(y).max())}" in texts(picture)
    corners = np.vstack([artist.get_path().vertices for artist in (picture.up, picture.down)])
    corners = corners[(corners[:, 0] < 700) & (np.abs(corners[:, 1] - expand_cut_contract.Y_Y) < 25)]
    assert math.isclose(np.abs(corners[:, 1] - expand_cut_contract.Y_Y).max(), expand_cut_contract.STRIP, rel_tol=1e-6)


# ---- words

def test_texts_at_the_default(picture):
    assert texts(picture) == sorted([
        "Expand 512 numbers to 2,048, cut the negatives, contract to 512", "1,068 of 2,048 units are cut (52 %), the other 980 pass unchanged.",
        "x", "y", "z", "h", "512 numbers within ±4.1", "512 numbers within ±1.82", "2,048 units", "2,048 units", "sorted by z", "same order", "1  Expand", "2  Cut",
        "3  Contract", "ReLU", "W1: 512 × 2,048", "W2: 2,048 × 512", "to scale, 1 : 4 : 4 : 1", "2,099,712 parameters",
        "980 kept", "1,068 cut to 0", "16 units, unsorted", "Unit 11 asks", "with its column of W1", "z = 1.75", "h = 1.75", "and writes",
        "h times its row of W2", "unit 11", "hidden layer", "hidden layer", "removed", "column 11 of W1", "row 11 of W2",
        "Black in z: the close-up’s 16 units. Hatched: removed by the activation. Weights, x and y are random: only their size matters."])


def test_the_words_follow_the_controls(picture):
    assert picture.set(d_ff=128).title == "Narrow 512 numbers to 128, cut the negatives, widen to 512: a bottleneck"
    assert picture.set(d_ff=512).title.startswith("Keep 512 numbers at 512")
    assert "one linear map" in picture.set(d_ff=2048, activation="identity").title and "0 of 2,048" in picture.sentence
    assert "shrink to between −0.17 and 0" in picture.set(activation="gelu").sentence
    assert "shrink to between −0.28 and 0" in picture.set(activation="silu").sentence
    assert picture.set(activation="relu", shift=-1).sentence.startswith("Bias shifted by −1: ")


def test_names_inside_the_hidden_layer_stay_clear(picture):
    """"hidden layer" and "removed" touch no other words and not the line of the picked unit."""
    for d_ff in WIDTHS:
        for activation, shift in [("relu", -1), ("relu", 0), ("gelu", 1), ("identity", 0)]:
            for unit in (0, 4, 127):
                picture.set(d_ff=d_ff, activation=activation, shift=shift, unit=unit)
                assert ("removed" in texts(picture)) == (activation != "identity")
                labels = Recorder(picture).labels
                assert not overlaps(labels) and not off_page(labels, picture.size)
                line = picture.marks.get_path().vertices
                z = z_of(picture.values)
                at = 122 + 315 + ((z > z[unit]).sum() + 0.5 - d_ff / 2) * 630 / 3072
                assert np.isclose(line[:, 0], at - 0.9, atol=0.3).any()
                assert all(label.x1 < at or label.x0 > at for label in labels if label.text in ("hidden layer", "removed"))


def test_labels_of_four_teachers_fit():
    error = np.tile(np.linspace(0.9, 0.2, 6)[:, None], (4, 1, 2))
    picture = width_fit.WidthFit(ratios=[0.25, 0.5, 1, 2, 4, 8], teachers=[16, 64, 512, 128], own=error, random=error, d_model=16)
    labels = Recorder(picture).labels
    assert not overlaps(labels) and not off_page(labels, picture.size) and len(picture.alt.split()) <= 40


@pytest.mark.parametrize("count", width_ratios.COUNTS)
def test_every_way_to_count_fits(count):
    picture = width_ratios.default().set(count=count)
    labels = Recorder(picture).labels
    assert not overlaps(labels) and not off_page(labels, picture.size) and len(picture.alt.split()) <= 40


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_alt_is_short_and_holds_a_number(module):
    alt = module.default().alt
    assert len(alt.split()) <= 40 and re.search(r"\d", alt)


def test_alt_stays_short_at_the_ends(picture):
    for d_ff in WIDTHS:
        for activation in ACTIVATIONS:
            for shift in (-1, 1):
                assert len(picture.set(d_ff=d_ff, activation=activation, shift=shift, unit=127).alt.split()) <= 40


# ---- redraws

def plain(svg):
    return re.sub(r"p\d+-", "p-", re.sub(r"<defs>.*?</defs>", "", svg))


def test_a_hundred_settings_leave_no_state_behind(picture):
    draw = np.random.default_rng(3)
    pick = lambda options: options[draw.integers(len(options))]
    for _ in range(100):
        last = dict(d_ff=pick(WIDTHS), activation=pick(ACTIVATIONS), shift=float(pick(SHIFTS)), unit=int(draw.integers(128)))
        picture.set(**last)
    fresh = expand_cut_contract.ExpandCutContract(**{**expand_cut_contract.default().values, **last})
    assert plain(picture.moving_svg()) == plain(fresh.moving_svg()) and picture.png(1) == fresh.png(1)


def test_new_arrays_are_seen(picture):
    before, x = plain(picture.moving_svg()), picture.values["x"]
    picture.set(x=-x)
    assert plain(picture.moving_svg()) != before and "980 of 2,048 units are cut" in picture.sentence
    assert plain(picture.set(x=x).moving_svg()) == before


def test_what_moves_is_small(picture):
    picture.still_svg()
    assert max(len(picture.set(d_ff=d, activation=a).moving_svg()) for d in WIDTHS for a in ACTIVATIONS) <= 60_000


@pytest.mark.parametrize("name, value, words", [
    ("x", [1.0], "x"), ("W1", np.zeros((3, 3072)), "W1 has shape"), ("b1", np.zeros(4), "b1 has shape"), ("W2", np.zeros((3072, 3)), "W2 has shape"),
    ("d_ff", 4096, "d_ff is 4,096"), ("d_ff", 20.5, "whole number"), ("unit", 2048, "0 to 2,047"), ("unit", -1, "unit is -1"),
    ("activation", "tanh", "known are"), ("shift", 1.5, "shift"), ("shift", float("nan"), "shift"), ("unit", "eleven", "unit")])
def test_refused_input_keeps_the_picture(picture, name, value, words):
    before = plain(picture.moving_svg())
    with pytest.raises((ValueError, TypeError), match=words):
        picture.set(**{name: value})
    assert plain(picture.moving_svg()) == before


# ---- the smaller pictures

def test_shapes_say_the_cost():
    picture = width_shapes.WidthShapes()
    assert "to 8,192: 192 d² weights a layer, not 12 d², 16 times" in picture.sentence
    assert 192 * 512 ** 2 == 4 * 2048 ** 2 + 2 * 2048 * 8192            # attention and the FFN that is drawn
    pieces = np.split(picture.wide.get_path().vertices, 3)
    ffn, bottleneck, never = (np.ptp(piece[:, 0]) for piece in pieces)
    outer = [np.ptp(piece[:, 0]) for piece in np.split(picture.narrow.get_path().vertices, 6)]
    assert np.allclose([never / ffn, never / outer[4], ffn / outer[0], outer[2] / bottleneck], 4)     # one scale left and right
    assert np.isclose(outer[2] / 256 / (ffn / 2048), 8) and "drawn 8 times larger" in texts(picture)
    with pytest.raises(ValueError, match="should be above d_model"):
        picture.set(d_ff=512)
    with pytest.raises(ValueError, match="inner"):
        picture.set(inner=0)


def test_ranks_are_read_off():
    picture = rank_ratio.RankRatio(ratios=[1, 2, 3], ranks=[[3, 5, 4], [7, 8, 8], [8, 8, 8]],
                                   on=[[4, 4, 4], [7, 8, 9], [12, 12, 12]], d_model=8)
    assert picture.sentence == "Median rank 4 at ratio 1, 8 at ratio 2; from ratio 3 on every token has all 8."
    with pytest.raises(ValueError, match="between 0 and d_model"):
        picture.set(ranks=np.full((3, 3), 9))
    with pytest.raises(ValueError, match="between 0 and d_ff"):
        picture.set(on=np.full((3, 3), 9))


def test_the_line_of_units_follows_the_data():
    """Half of the units on: the line reaches d_model at ratio 2; a quarter on: at ratio 4, beyond the axis."""
    at, ranks, d = np.array([1, 2, 3]), np.full((3, 1), 2), 8
    for share, ratio in [(0.5, 2), (0.25, 3)]:
        picture = rank_ratio.RankRatio(ratios=at, ranks=ranks, on=share * d * at[:, None], d_model=d)
        assert np.allclose(picture.units.get_path().vertices[1], picture.place(ratio, share * ratio * d))
        assert f"units on: {100 * share:.0f} % of d_ff" in texts(picture) and f"{100 * share:.0f} % of d_ff" in picture.alt


def test_a_rank_title_without_ratio_1_names_its_ratio():
    picture = rank_ratio.RankRatio(ratios=[2, 4], ranks=[[5], [8]], on=[[8], [16]], d_model=8)
    assert picture.title == "At ratio 2 the ReLU leaves 5 of 8 directions"


def test_fit_says_where_each_curve_reaches_zero():
    own, random = np.full((2, 3, 2), 0.5), np.full((2, 3, 2), 0.6)
    own[0, 1:] = 0
    picture = width_fit.WidthFit(ratios=[1, 2, 4], teachers=[32, 99], own=own, random=random, d_model=16)
    assert "reaches 0 for 32 at ratio 2, 99 nowhere" in picture.sentence and "never hurts" in picture.title
    random[1, 2] = 0.7
    assert "does not always help" in picture.set(random=random).title


def test_ratios_are_counted_three_ways():
    picture = width_ratios.default()
    assert picture.title.startswith("7 of 19") and "0.29 to 64" in picture.title
    assert "DeepSeek-V3, expert, 0.43" in picture.set(count="with gates").sentence
    assert picture.title.startswith("5 of 19 FFNs hold the weights of a 4-times FFN") and "plain FFN" in picture.axis_name.get_text()
    assert "T5-small v1.1, 3." in picture.set(count="active").sentence and picture.title.startswith("5 of 19 give a token")
    with pytest.raises(ValueError, match="count"):
        picture.set(count="other")
    assert "T5-small v1.1, 3." in picture.sentence
