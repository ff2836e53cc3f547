"""Every picture of figures/, in the state that it is published in.

Pixels are compared at the pinned matplotlib only. The structure of every picture (its texts, how many
shapes) is kept in pictures.json, which survives upgrades. After a picture was changed and looked at,
this line rewrites both, the second for all pictures:

    python -m figures && python -m tests.test_pictures
"""
import importlib
import inspect
import io
import json
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path

import matplotlib.pyplot
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import ffn_helpers as fh
from conftest import TOLERANCE, difference
from figures import __main__ as figures, rank_collapse
from figures.hand_worked import MENDED, HandWorked
from tests.drawing import OTHER_CUES, PALETTE, Label, Recorder, bare, faint, family, is_known, off_page, only_hue, overlaps, told_by_hue
from tests.odd import anything, attempt, relatives
from tests.test_notebooks import HUES, alt_faults, straight_quotes
from tests.test_svg_layer import texts, tree

SNAPSHOT = Path(__file__).with_name("pictures.json")
NAMES = figures.names()
SMALLEST = 10.5          # points

every_picture = pytest.mark.parametrize("name", NAMES)


@lru_cache(maxsize=None)
def picture(name):
    return importlib.import_module(f"figures.{name}").default()


@lru_cache(maxsize=None)
def recorded(name):
    return Recorder(picture(name))


def structure(drawing):
    """What a picture consists of, in numbers and words that no matplotlib version changes."""
    patches = [patch for axes in drawing.figure.axes for patch in axes.patches if patch.get_visible()]
    lines = [line for axes in drawing.figure.axes for line in axes.lines if line.get_visible()]
    shapes = [pieces(patch.get_path()) for patch in patches]
    return {
        "size": list(drawing.size),
        "alt": drawing.alt,
        "patches": len(patches),
        "shapes": sum(shapes),                     # pieces of all patches: bars, arrows, cells
        "hatched": sum(bool(patch.get_hatch() and pieces(patch.get_path())) for patch in patches),
        "lines": len(lines),
        "line_points": sum(len(line.get_xdata()) for line in lines),
        "texts": sorted(label.text for label in Recorder(drawing).labels),
    }


def pieces(path):
    if not len(path.vertices):
        return 0
    return 1 if path.codes is None else int((path.codes == path.MOVETO).sum())


def differences(stored, found):
    """Where two structures differ, in words."""
    complaints = [f"{key}: stored {stored.get(key)!r}, drawn {found.get(key)!r}"
                  for key in sorted(set(stored) | set(found)) if key != "texts" and stored.get(key) != found.get(key)]
    was, now = Counter(stored.get("texts", [])), Counter(found["texts"])
    complaints += [f"text gone: {text!r}" for text in (was - now).elements()]
    return complaints + [f"text new: {text!r}" for text in (now - was).elements()]


# ---------------------------------------------------------------- what is drawn

def test_pictures_are_found():
    assert NAMES and all((figures.HERE / f"{name}.py").exists() for name in NAMES)


@every_picture
def test_structure_is_as_stored(name):
    stored = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    assert name in stored, f"pictures.json lacks {name}: look at the picture, then python -m tests.test_pictures"
    complaints = differences(stored[name], structure(picture(name)))
    assert not complaints, f"{name}: " + "; ".join(complaints)


def test_stored_structures_are_of_pictures_that_exist():
    assert set(json.loads(SNAPSHOT.read_text(encoding="utf-8"))) == set(NAMES)


@every_picture
@pytest.mark.pixels
def test_published_png_is_what_the_code_draws(name):
    gap = difference((figures.HERE / f"{name}.png").read_bytes(), picture(name).png())
    assert gap <= TOLERANCE, f"figures/{name}.png differs by {gap:.2f} of 255: look at it, then course.py figures"


@every_picture
def test_a_drawing_of_the_same_values_is_the_same(name):
    drawing = picture(name)
    again = type(drawing)(**drawing.values)        # what `check` returns, it also takes
    assert (again.title, again.sentence, again.alt) == (drawing.title, drawing.sentence, drawing.alt)
    assert bare(again.still_svg() + again.moving_svg()) == bare(drawing.still_svg() + drawing.moving_svg())
    assert f'alt="{fh.html.escape(drawing.alt)}"' in fh.show(drawing)._repr_mimebundle_()["text/html"]


# ---------------------------------------------------------------- what it takes

@every_picture
@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_one_odd_argument_gives_a_picture_or_a_refusal_by_name(name, data):
    good = picture(name)
    argument = data.draw(st.sampled_from(sorted(good.values)), "argument")
    odd = data.draw(relatives(good.values[argument]) | anything, "value")
    taken, drawing = attempt([*good.values, *inspect.signature(good.check).parameters], type(good), **{**good.values, argument: odd})
    if taken:
        live = drawing.still_svg() + drawing.moving_svg()
        assert tree(live.partition("</svg>")[0] + "</svg>") is not None and "nan" not in drawing.title + drawing.sentence + drawing.alt
        assert drawing.title and drawing.sentence and 1 <= len(drawing.alt.split()) <= 40


@pytest.mark.parametrize("name, odd", [
    ("expand_cut_contract", {"x": np.zeros(512)}), ("expand_cut_contract", {"W1": np.zeros((512, 3072))}), ("expand_cut_contract", {"W2": np.zeros((3072, 512))}),
    ("encoder_layer", {"hidden": np.zeros((3, 2, 2, 2, 2, 3, 64))}), ("hand_worked", {"W1": np.full((2, 3), 1e-320)}),
    ("kink_fit", {"target": np.zeros(6001)}), ("kink_fit", {"fits": {16: (np.linspace(-2, 2, 16), np.sin(3 * np.linspace(-3, 3, 6001)))}}),
    ("kink_fit", {"target": np.zeros(6001), "k": 16, "fits": {k: (np.linspace(-2, 2, k), np.full(6001, 8.0 - k / 2)) for k in (8, 16)}}),
    ("linear_collapse", {"sheet": [(np.array([[0.0, 1], [0, 1]]), np.zeros(2)), *[(np.eye(2), np.zeros(2))] * 2]})])
def test_values_of_zero_and_next_to_it_are_drawn(name, odd):
    """Each of these once ended in a division by zero, or in a shape without corners."""
    good = picture(name)
    assert attempt([], type(good), **{**good.values, **odd})[0]


@pytest.mark.parametrize("name, odd, words", [
    ("one_network", {"names": ["猫", "坐", "下"]}, "names holds '猫', which DejaVu Sans lacks"), ("width_shapes", {"d_model": 2.7}, "d_model is 2.7, expected a whole number"),
    ("width_fit", {"d_model": 0}, "d_model is 0, expected a whole number from 1 to"), ("expand_cut_contract", {"W1": None}, "W1 must be an array of real numbers, got NoneType None"),
    ("meeting", {"layer": torch.ones(2)}, "layer must be a number, got Tensor"), ("kink_fit", {"k": [16]}, "k must be a number, got list"),
    ("flops", {"model": ["own"]}, "model must be text, got list"), ("shazeer", {"borrow": 1}, "borrow must be True or False, got int 1"),
    ("kv_cache", {"cases": 3}, "cases must be a dict, got int 3"), ("rank_ratio", {"ranks": np.zeros((6, 0))}, "ranks has shape (6, 0), expected (6, n)"),
    ("dead_unit", {"activations": {"a": len, "b": len, "c": len}}, "activations: a must take a float64 tensor"),
    ("dead_unit", {"activations": {1: torch.relu, None: torch.relu, "c": torch.relu}}, "a name in activations must be text, got int 1"),
    ("width_ratios", {"names": [["a", "b"]] * 20}, "names must be words, got"), ("width_ratios", {"active": np.zeros(19)}, "active reaches from 0 to 0"),
    ("kink_fit", {"k": True}, "k must be a number, got bool True"), ("flops", {"d_ff_": 7}, "d_ff_ is no value of this picture"),
    ("regions", {"W1": np.array([[1e-10, 1], [0, 1]]), "b1": np.zeros(2)}, "no column of zeros, or within"),
    ("kv_cache", {"cases": {"a": {name: 0 for name in ("FFN", "projections", "scores")}}, "case": "a"}, "cases: 'a' saves nothing")])
def test_what_a_picture_does_not_take_it_says(name, odd, words):
    good = picture(name)
    with pytest.raises((ValueError, TypeError)) as caught:
        type(good)(**{**good.values, **odd})
    assert words in str(caught.value)


@pytest.mark.parametrize("value, text", [(0.5, "0.5"), (0, "0"), (0.00999, "1 · 10⁻²"), (9.7e-5, "1 · 10⁻⁴"), (2.4e-12, "2 · 10⁻¹²")])
def test_a_small_distance_is_one_digit_and_a_power_of_ten(value, text):
    assert rank_collapse._value(value) == text


def test_every_silent_stretch_is_hatched():
    """ReLU6 is flat on both sides."""
    good = picture("dead_unit")
    names = {"ReLU6": lambda z: z.clamp(0, 0.5), **dict(list(good.values["activations"].items())[1:])}
    drawing = type(good)(**{**good.values, "activations": names, "bias": 0})
    z, hatched = np.sort(good.values["z"]), drawing.cut.get_path().vertices[:, 0]
    for flat in (z < 0, z > 0.5):
        places = drawing.left[flat]
        assert flat.any() and np.isclose(hatched, places[0]).any() and np.isclose(hatched, places[-1] + drawing.pitch).any()
    assert drawing.pitch * np.count_nonzero((z < 0) | (z > 0.5)) < np.ptp(hatched)


# ---------------------------------------------------------------- what it says

@every_picture
def test_words(name):
    drawing = picture(name)
    assert drawing.title.strip() and drawing.sentence.strip()
    assert not alt_faults(drawing.alt, drawing.title, drawing.sentence)
    shown = [label.text for label in recorded(name).labels]
    assert drawing.title in shown and drawing.sentence in shown
    assert not [text for text in [*shown, drawing.alt] if HUES.search(text)], "words for hues say nothing to who sees none"
    assert not [text for text in [*shown, drawing.alt] if straight_quotes(text)], "quotes are “ ”, the apostrophe is ’"


@every_picture
def test_no_text_leaves_the_page(name):
    assert not off_page(recorded(name).labels, picture(name).size)


@every_picture
def test_no_two_texts_overlap(name):
    assert not overlaps(recorded(name).labels)


@every_picture
def test_text_is_large_enough(name):
    assert not [label for label in recorded(name).labels if label.size < SMALLEST]


# ---------------------------------------------------------------- colours

@every_picture
def test_colours_are_the_palettes(name):
    assert not [colour for colour in recorded(name).colours if not is_known(colour)]


def test_no_meaning_hangs_on_hue_alone():
    found = [told_by_hue(name, recorded(name)) for name in NAMES]
    assert set.union(*(wrong for wrong, _ in found)) == set()
    excused = {name for _, pairs in found for name, *_ in pairs}
    assert excused == {name for name, *_ in OTHER_CUES}, "an excuse that no picture needs"


@every_picture
def test_text_stands_out_from_its_ground(name):
    assert not faint(picture(name), recorded(name).labels)


@every_picture
def test_nothing_is_transparent(name):
    assert recorded(name).alphas == {1}


# ---------------------------------------------------------------- the same picture in two layers

@every_picture
def test_still_and_moving_layer_hold_every_text(name):
    drawing = picture(name)
    still, moving = drawing.still_svg(), drawing.moving_svg()
    in_layers = sorted(texts(still) + texts(moving))
    assert in_layers == sorted(re.sub(r"\s", "", label.text) for label in recorded(name).labels)
    assert tree(still) is not None and tree(moving) is not None and "nan" not in still + moving


def test_pyplot_holds_no_figure():
    for name in NAMES:
        picture(name)
    assert not matplotlib.pyplot.get_fignums()


# ---------------------------------------------------------------- this file against faults

class Faulty(fh.Picture):
    """A small picture that can be drawn with one fault at a time."""
    size = 300, 120

    def check(self, fault=""):
        return dict(fault=fault)

    def build(self):
        fault = self.values["fault"]
        self.text(20, 90, "12 of 48" if fault != "digit" else "12 of 49")
        self.text(280 if fault == "off" else 150 if fault != "overlap" else 60, 92, "units",
                  size=9 if fault == "small" else 10.5, colour="#AA0000" if fault == "colour" else fh.INK)
        self.patch(fh.rectangles([20, 40], 60, 10, 12), fh.POSITIVE, alpha=0.5 if fault == "alpha" else None)
        if fault == "contrast":
            self.rectangle(10, 80, 70, 20, fh.HIDDEN)
            self.text(20, 90, "faint", colour=fh.WEIGHT)
        if fault != "hatch":
            self.rectangle(80, 60, 20, 12, fh.CUT, fh.WEIGHT, 0, hatch=fh.HATCH)
        if fault != "line":
            self.line([20, 90], [75, 75])

    def update(self):
        self.title, self.sentence, self.alt = "A small picture", "2 bars.", "Two bars, 12 of 48."


def test_a_good_picture_passes():
    good = Recorder(Faulty())
    assert not off_page(good.labels, Faulty.size) and not overlaps(good.labels)
    assert all(map(is_known, good.colours)) and good.alphas == {1} and good.hatched == 1
    assert min(label.size for label in good.labels) == SMALLEST
    assert not differences(structure(Faulty()), structure(Faulty()))


@pytest.mark.parametrize("fault, word", [("digit", "12 of 49"), ("hatch", "hatched"), ("line", "lines")])
def test_structure_catches(fault, word):
    assert any(word in text for text in differences(structure(Faulty()), structure(Faulty(fault=fault))))


@pytest.mark.parametrize("fault, caught", [
    ("off", lambda found: off_page(found.labels, Faulty.size) == ["units"]),
    ("overlap", lambda found: overlaps(found.labels) == [("units", "12 of 48")]),
    ("small", lambda found: min(label.size for label in found.labels) < SMALLEST),
    ("colour", lambda found: [c for c in found.colours if not is_known(c)] == ["#aa0000"]),
    ("alpha", lambda found: found.alphas != {1}),
    ("contrast", lambda found: faint(Faulty(fault="contrast"), found.labels) == ["faint"])])
def test_recorder_catches(fault, caught):
    assert caught(Recorder(Faulty(fault=fault)))


def second(draw):
    """What only hue tells apart once `draw` has added its marks to two orange bars."""
    drawing = Faulty(fault="line")
    draw(drawing)
    return [tuple(map(family, pair)) for pair in only_hue(Recorder(drawing).marks())]


@pytest.mark.parametrize("draw", [
    lambda p: p.patch(fh.rectangles([120, 140], 80, 10, 12), fh.NEGATIVE),
    lambda p: p.patch(fh.rectangles([20, 40], 72, 10, 12), fh.NEGATIVE),                      # under the others
    lambda p: [p.line([20, 90], [y, y], colour) for y, colour in [(10, fh.POSITIVE), (20, fh.NEGATIVE)]],
    lambda p: [p.patch(fh.circle(x, 20, 6), colour) for x, colour in [(100, fh.POSITIVE), (120, fh.NEGATIVE)]]])
def test_hue_alone_is_seen(draw):
    assert second(draw) == [("NEGATIVE", "POSITIVE")]


@pytest.mark.parametrize("draw", [
    lambda p: p.patch(fh.rectangles([120, 140], 80, 10, 12), fh.tint(fh.NEGATIVE, 0.5)),      # lighter
    lambda p: p.patch(fh.rectangles([120, 140], 80, 10, 12), fh.NEGATIVE, fh.INK),
    lambda p: p.patch(fh.rectangles([120, 140], 80, 10, 12), fh.NEGATIVE, hatch=fh.HATCH),
    lambda p: p.patch(fh.circle(120, 80, 6), fh.NEGATIVE),
    lambda p: p.patch(fh.rectangles([60, 80], 60, 10, [-8, -12]), fh.NEGATIVE),               # hang where the others stand
    lambda p: [p.line([20, 90], [y, y], colour, width) for y, colour, width in [(10, fh.POSITIVE, 1), (20, fh.NEGATIVE, 3)]],
    lambda p: [p.line([20, 90], [y, y], colour, linestyle=style)
               for y, colour, style in [(10, fh.POSITIVE, "-"), (20, fh.NEGATIVE, "--")]]])
def test_a_second_cue_is_enough(draw):
    assert second(draw) == []


@pytest.mark.pixels
def test_pixels_catch_a_wrong_digit():
    assert difference(Faulty().png(), Faulty(fault="digit").png()) > TOLERANCE


@pytest.mark.parametrize("at", [(8, 8), (15, 15), (15, 8)])       # inside a tile, and over its corner and edge
def test_pixels_catch_a_lost_decimal_point(at):
    """The smallest mark that changes a number: 2 by 2 pixels, in a picture of the size of ours."""
    blank, dotted = (np.full((680, 1000, 3), 255, np.uint8) for _ in range(2))
    dotted[at[0]:at[0] + 2, at[1]:at[1] + 2] = 0
    pngs = [io.BytesIO(), io.BytesIO()]
    for png, pixels in zip(pngs, (blank, dotted)):
        Image.fromarray(pixels).save(png, "png")
    assert difference(*(png.getvalue() for png in pngs)) > TOLERANCE


@pytest.mark.parametrize("amount", np.linspace(0, 1, 7))
@pytest.mark.parametrize("name", PALETTE)
def test_every_tint_is_known(name, amount):
    assert is_known(fh.tint(PALETTE[name], amount))


@pytest.mark.parametrize("colour", ["#000000", "#ff0000", "#1f77b4", "#008000", "#ffff00", "#D55E80"])
def test_other_colours_are_not_known(colour):
    assert not is_known(colour)


def test_turned_text_has_a_turned_box():
    drawing = Faulty()
    drawing.text(150, 60, "a long label", rotation=90)
    label = Recorder(drawing).labels[-1]
    assert isinstance(label, Label) and label.text == "a long label"
    assert label.y1 - label.y0 > 3 * (label.x1 - label.x0)


if __name__ == "__main__":
    SNAPSHOT.write_text(json.dumps({name: structure(picture(name)) for name in NAMES},
                                   ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{SNAPSHOT.relative_to(Path.cwd())}: {len(NAMES)} pictures")


# ---------------------------------------------------------------- one picture's own

def test_the_residual_arrow_does_not_run_through_its_name():
    picture, seen = HandWorked(**MENDED), 0
    for x in np.ndindex(11, 11):
        picture.set(x=np.array(x, float) - 5)
        if picture.residual_name.get_visible():
            box = picture.residual_name.get_window_extent().transformed(picture.page.transData.inverted())
            shaft = np.linspace(*picture.residual.get_path().vertices[[0, 1]], 99)
            arrow = picture.residual.get_path().vertices
            seen += 1
            assert not box.count_contains(arrow) and not box.count_contains(shaft), picture.values["x"]
    assert seen > 60
