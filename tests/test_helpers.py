"""The small tools of the ground floor: numbers as text, arrays in, shapes, bars, verdicts, checks.

The bad-input matrix at the end holds one promise for all of them: what does not fit raises a ValueError
or TypeError that names the argument.
"""
import math
import pickle
import re
import threading

import numpy as np
import pytest
import torch
from matplotlib.path import Path

import ffn_helpers as fh
from figures import hand_worked
from inputs import drawable
from tests.drawing import bare

NAN, INF = float("nan"), float("inf")


# ---------------------------------------------------------------- numbers as text, colours

@pytest.mark.parametrize("value, text", [
    (0, "0"), (-0.0, "0"), (-0.001, "0"), (1, "1"), (-1, "−1"), (3.5, "3.5"), (2.50, "2.5"), (1 / 3, "0.33"),
    (-1.005, "−1"), (100, "100"), (1027, "1,027"), (-2099712, "−2,099,712"), (1e6, "1,000,000"), (True, "1"),
    (np.float32(0.5), "0.5"), (np.int64(7), "7"), (torch.tensor(-2.25), "−2.25"), (np.array(4), "4")])
def test_num(value, text):
    assert fh.num(value) == text


@pytest.mark.parametrize("digits, text", [(0, "1,235"), (1, "1,234.6"), (4, "1,234.5678")])
def test_num_digits(digits, text):
    assert fh.num(1234.5678, digits) == text


@pytest.mark.parametrize("values, text", [
    ([1, -2], "[1, −2]"), ([3.5], "3.5"), (3.5, "3.5"), ([[1, 2], [3, 4]], "[1, 2, 3, 4]"), (torch.tensor([0.25, -0.0]), "[0.25, 0]")])
def test_vec(values, text):
    assert fh.vec(values) == text


def test_tint_runs_from_white_to_the_colour():
    assert fh.tint(fh.POSITIVE, 0) == "#ffffff" and fh.tint(fh.POSITIVE, 1) == fh.POSITIVE.lower()
    assert fh.tint("#000000", 0.2) == "#cccccc"
    assert fh.tint("#000000", -3) == "#ffffff" and fh.tint("#000000", 7) == "#000000"


def test_everything_public_exists():
    assert len(set(fh.__all__)) == len(fh.__all__) and all(hasattr(fh, name) for name in fh.__all__)


# ---------------------------------------------------------------- arrays in

@pytest.mark.parametrize("value", [[1, 2], (1, 2), np.array([1, 2], np.int8), np.array([1, 2], np.float16), range(1, 3),
                                   torch.tensor([1, 2]), torch.tensor([1.0, 2.0], requires_grad=True)])
def test_checked_gives_float64(value):
    array = fh.checked("x", value, (2,))
    assert isinstance(array, np.ndarray) and array.dtype == np.float64 and array.tolist() == [1, 2]


def test_checked_copies():
    mine = np.array([1.0, 2.0])
    checked = fh.checked("x", mine)
    mine[0] = 9
    assert checked.tolist() == [1, 2]
    tensor = torch.tensor([1.0, 2.0], dtype=torch.float64)
    checked = fh.checked("x", tensor)
    tensor[0] = 9
    assert checked.tolist() == [1, 2]


@pytest.mark.parametrize("shape", [None, (2, 3), ("d_model", 3), (None, None), (2, "d_ff")])
def test_checked_lets_fitting_shapes_pass(shape):
    assert fh.checked("W1", np.zeros((2, 3)), shape).shape == (2, 3)


@pytest.mark.parametrize("value, shape, words", [
    ([1, 2], (3,), "x has shape (2,), expected (3,)"),
    (np.zeros((2, 3)), (3, 2), "x has shape (2, 3), expected (3, 2)"),
    (np.zeros((2, 3)), ("d_model", 4), "x has shape (2, 3), expected (d_model, 4)"),
    (np.zeros((2, 3)), (None,), "x has shape (2, 3), expected (any,)"),
    ([[1, 2]], (2,), "x has shape (1, 2), expected (2,)"),
    (1, (1,), "x has shape (), expected (1,)"), ([1], (), "x has shape (1,), expected ()"), ([], (2,), "x has shape (0,), expected (2,)")])
def test_checked_names_both_shapes(value, shape, words):
    with pytest.raises(ValueError) as caught:
        fh.checked("x", value, shape)
    assert str(caught.value) == words


def test_checked_holds_its_limit():
    assert fh.checked("x", [9, -9], limit=9).tolist() == [9, -9]
    for value in (9.001, -9.001, 1e308):
        with pytest.raises(ValueError, match=r"x with shape \(1,\) holds .*, expected at most 9"):
            fh.checked("x", [value], limit=9)
    with pytest.raises(ValueError, match="expected at most 1e\\+06"):
        fh.checked("x", 1e308)
    assert fh.checked("x", 1e308, limit=math.inf) == 1e308


# ---------------------------------------------------------------- shapes

def subpaths(path):
    """A path's pieces as lists of points, without the closing ones."""
    pieces = []
    for vertex, code in zip(path.vertices.tolist(), path.codes.tolist()):
        if code == Path.MOVETO:
            pieces.append([])
        if code != Path.CLOSEPOLY:
            pieces[-1].append(tuple(vertex))
    return pieces


def test_rectangles_broadcast_and_leave_out_what_has_no_area():
    assert subpaths(fh.rectangles([0, 10], 1, 2, [3, -4])) == [
        [(0, 1), (2, 1), (2, 4), (0, 4)], [(10, 1), (12, 1), (12, -3), (10, -3)]]
    assert len(subpaths(fh.rectangles([0, 1, 2], 0, [1, 0, 1], [1, 1, 0]))) == 1
    for empty in (fh.rectangles([], 0, 1, 1), fh.rectangles(0, 0, 0, 1), fh.rectangles(0, 0, [1, 1], 0)):
        assert len(empty.vertices) == 0


def test_joined_is_all_pieces_in_order():
    a, b = fh.rectangles(0, 0, 1, 1), fh.closed([(5, 5), (6, 5), (6, 6)])
    assert subpaths(fh.joined([a, None, fh.EMPTY, b])) == subpaths(a) + subpaths(b)
    assert fh.joined([]) is fh.EMPTY and fh.joined([None, fh.EMPTY]) is fh.EMPTY


def test_closed_ends_where_it_began():
    path = fh.closed([(0, 0), (2, 0), (1, 3)])
    assert path.codes.tolist() == [Path.MOVETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    assert path.vertices[0].tolist() == path.vertices[-1].tolist() == [0, 0]


def test_circle_is_round():
    path = fh.circle(10, 20, 5)
    radii = np.hypot(*(path.interpolated(1).to_polygons()[0] - (10, 20)).T)
    assert radii.min() == pytest.approx(5, rel=1e-2) and radii.max() == pytest.approx(5, rel=1e-2)
    extents = path.get_extents()
    assert (extents.x0, extents.y0, extents.x1, extents.y1) == pytest.approx((5, 15, 15, 25), abs=0.01)


def test_circles_outline_is_shared_by_no_one():
    before = fh.circle(0, 0, 1).vertices.copy()
    fh.circle(0, 0, 1).vertices[:] = 7
    assert np.array_equal(fh.circle(0, 0, 1).vertices, before)


@pytest.mark.parametrize("end", [(30, 0), (0, 30), (-18, 24)])
def test_arrow_points_to_its_end(end):
    points = np.array(subpaths(fh.arrow_path((0, 0), end, head=8, shaft=2))[0])
    along = np.array(end) / 30
    far = points[np.argmax(points @ along)]
    assert far == pytest.approx(end) and (points @ along).min() == pytest.approx(0)
    across = points @ (-along[1], along[0])
    assert across.max() == pytest.approx(3.6) and across.min() == pytest.approx(-3.6)
    assert sorted(np.abs(across[np.isclose(points @ along, 0)])) == pytest.approx([1, 1])


def test_arrow_without_length_and_short_ones():
    assert fh.arrow_path((3, 3), (3, 3)) is fh.EMPTY
    short = np.array(subpaths(fh.arrow_path((0, 0), (4, 0), head=8))[0])
    assert short[:, 0].min() == 0 and short[:, 0].max() == 4
    bar = np.array(subpaths(fh.arrow_path((0, 0), (10, 0), head=0, shaft=3))[0])
    assert bar[:, 1].max() == 1.5


def test_trapezoid():
    assert subpaths(fh.trapezoid(50, 10, 20, 80, 30)) == [[(40, 10), (60, 10), (90, 40), (10, 40)]]


class Board(fh.Picture):
    size = 100, 100

    def build(self):
        pass

    def update(self):
        pass


def heights(path, x):
    """The signed height of the bar at every x, 0 where there is none."""
    found = {piece[0][0]: piece[2][1] - piece[0][1] for piece in subpaths(path)} if len(path.vertices) else {}
    return [found.get(at, 0) for at in x]


@pytest.mark.parametrize("unit, base", [(1, 0), (-12, 60), (0.5, 3)])
def test_bar_heights_are_the_values(unit, base):
    x, values = [10.0, 20.0, 30.0, 40.0, 50.0], [2, -1.5, 0, -0.0, 0.25]
    bars = fh.Bars(Board(), x, 8, base, unit)
    bars.set(values)
    up, down = heights(bars.up.get_path(), x), heights(bars.down.get_path(), x)
    assert up == [max(v, 0) * unit for v in values] and down == [min(v, 0) * unit for v in values]
    assert all(piece[0][1] == base for path in (bars.up, bars.down) for piece in subpaths(path.get_path()))
    assert bars.up.get_facecolor() == fh.matplotlib.colors.to_rgba(fh.POSITIVE)
    assert bars.down.get_facecolor() == fh.matplotlib.colors.to_rgba(fh.NEGATIVE)


def test_positive_bars_rise_on_the_page():
    """Where y points down, a negative `unit` makes positive bars rise: their far end has the smaller y."""
    bars = fh.Bars(Board(), [10], 8, base=60, unit=-5)
    bars.set([4])
    assert bars.up.get_path().vertices[:, 1].min() == 40 and bars.up.get_path().vertices[:, 1].max() == 60
    bars.set([-4])
    assert not len(bars.up.get_path().vertices) and bars.down.get_path().vertices[:, 1].max() == 80
    bars.set([0])
    assert not len(bars.up.get_path().vertices) and not len(bars.down.get_path().vertices)


# ---------------------------------------------------------------- pictures that refuse

class Root(fh.Picture):
    """A picture that fails while it draws, for n below 0."""
    size = 200, 100

    def check(self, n):
        return dict(n=float(fh.checked("n", n, (), limit=100)))

    def build(self):
        self.label = self.moves(self.text(20, 80))

    def update(self):
        self.label.set_text(str(self.values["n"]))
        self.title = self.sentence = self.alt = f"root {math.sqrt(self.values['n'])}"


@pytest.mark.parametrize("n, error", [(-1, ValueError), (NAN, ValueError), ("4", TypeError), (101, ValueError)])
def test_refused_values_leave_the_picture_as_it_was(n, error):
    picture = Root(n=4)
    before = picture.png(1)
    with pytest.raises(error):
        picture.set(n=n)
    assert picture.values == {"n": 4} and picture.title == "root 2.0" and picture.png(1) == before
    assert picture.set(n=9) is picture and picture.label.get_text() == "9.0"


def test_png_has_the_size_that_was_asked_for():
    for scale in (1, 2):
        assert fh.Image.open(fh.io.BytesIO(Root(n=1).png(scale))).size == (200 * scale, 100 * scale)


def test_img_escapes_its_alt_text():
    picture = Root(n=1)
    picture.alt = 'x < 1 & "y"'
    assert 'alt="x &lt; 1 &amp; &quot;y&quot;"' in picture.img()


# ---------------------------------------------------------------- verdicts

@pytest.mark.parametrize("claim, word", [("C003", "corrected"), ("C101a", "true"), ("C018", "nuanced"), ("C034", "unverifiable")])
def test_verdict_prints_one_line(capsys, claim, word):
    fh.verdict(claim, word, True, "8x + 12")
    assert capsys.readouterr().out == f"{claim} {word}: 8x + 12\n"


@pytest.mark.parametrize("holds", [False, np.bool_(False), torch.tensor(False)])
def test_verdict_without_support_raises_and_prints_nothing(capsys, holds):
    with pytest.raises(AssertionError, match="C003: the numbers do not support 'true'"):
        fh.verdict("C003", "true", holds, "x")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("holds", [1, NAN, None, [], (False,), "False", lambda: False, torch.tensor([True, False])])
def test_verdict_wants_a_comparison(holds):
    with pytest.raises(TypeError, match="C003: holds must be one comparison"):
        fh.verdict("C003", "true", holds, "x")


@pytest.mark.parametrize("text", ["", "two\nlines", "one\n"])
def test_verdict_wants_one_line(text):
    with pytest.raises(ValueError, match="one line of text"):
        fh.verdict("C003", "true", True, text)


@pytest.mark.parametrize("claim, word", [("C3", "true"), ("003", "true"), ("C0031", "true"), ("C003z", "true"),
                                         ("C003", "wrong"), ("C003", "True"), ("C003", "")])
def test_verdict_with_another_id_or_word_is_refused(claim, word):
    with pytest.raises(ValueError, match="verdict needs an id such as C003"):
        fh.verdict(claim, word, True, "x")


# ---------------------------------------------------------------- checks

@pytest.mark.parametrize("got, printed", [
    (12, "correct: offset"), (12 + 1e-9, "correct: offset"), (torch.tensor(12), "correct: offset"), (np.float32(12), "correct: offset"),
    (11, "not yet: offset is 11, too small"), (12.001, "not yet: offset is 12.001, too large"),
    (26, "not yet: offset is 26: that is 2 + 3 · 8"), (None, "not yet: offset is not filled in"),
    (..., "not yet: offset is not filled in"),
    ("12", "not yet: offset must be a real number, got str '12'"), ([12], "not yet: offset has shape (1,), expected ()"),
    (NAN, "not yet: offset with shape () holds NaN or infinity, expected finite numbers"),
    (INF, "not yet: offset with shape () holds NaN or infinity, expected finite numbers"),
    (12j, "not yet: offset must be a real number, got complex 12j")])
def test_check_number(capsys, got, printed):
    fh.check_number("offset", got, 12, hints={26: "that is 2 + 3 · 8"})
    assert capsys.readouterr().out == printed + "\n"


def test_a_hint_says_what_was_given(capsys):
    fh.check_number("beta", 1.7, 1.77, tolerance=0.01, hints={1.702: "1.702 is closest elsewhere"})
    assert capsys.readouterr().out == "not yet: beta is 1.7: 1.702 is closest elsewhere\n"


@pytest.mark.parametrize("got, printed", [
    ([5, 2, 0], "correct: z"), (torch.tensor([5.0, 2.0, 1e-9]), "correct: z"),
    ([5, 2], "not yet: z has shape (2,), expected (3,)"), ([[5, 2, 0]], "not yet: z has shape (1, 3), expected (3,)"),
    (5, "not yet: z has shape (), expected (3,)"),
    (None, "not yet: z is not filled in"),
    ("520", "not yet: z must be an array of real numbers, got str '520'"),
    ([5, 2, NAN], "not yet: z with shape (3,) holds NaN or infinity, expected finite numbers")])
def test_check_array(capsys, got, printed):
    fh.check_array("z", got, [5, 2, 0])
    assert capsys.readouterr().out == printed + "\n"


def test_check_array_names_what_differs_and_not_the_answer(capsys):
    fh.check_array("z", [[5, 7], [8, 0]], [[5, 2], [-42, 0]])
    line = capsys.readouterr().out
    assert line.startswith("not yet: 2 of 4 entries of z differ") and "[0, 1]" in line and "7" in line
    assert "42" not in line


@pytest.mark.parametrize("function, printed", [
    (lambda z: z.clip(0), "correct: relu"),
    (lambda z: torch.relu(torch.as_tensor(z)), "correct: relu"),
    (lambda z: z, "not yet: 1 of 2 entries of relu((2,) array) differ; entry [0] is −1, too small"),
    (lambda z: None, "not yet: relu((2,) array) is not filled in"), (lambda z: ..., "not yet: relu((2,) array) is not filled in"),
    (lambda z: z[:1], "not yet: relu((2,) array) has shape (1,), expected (2,)"),
    (lambda z: "z", "not yet: relu((2,) array) must be an array of real numbers, got str 'z'"),
    (lambda z: z * NAN, "not yet: relu((2,) array) with shape (2,) holds NaN or infinity, expected finite numbers"),
    (lambda: 0, "not yet: relu((2,) array) raises TypeError"),
    (lambda z: 1 / 0, "not yet: relu((2,) array) raises ZeroDivisionError: division by zero"),
    (lambda z: z.clip(0) if z.ndim == 1 else z, "not yet: 1 of 4 entries of relu((2, 2) array) differ; entry [0, 0] is −3, too small")])
def test_check_function(capsys, function, printed):
    cases = (np.array([-1.0, 2.0]),), (np.array([[-3.0, 1.0], [0.0, 4.0]]),)
    fh.check_function("relu", function, lambda z: np.maximum(z, 0), *cases)
    assert capsys.readouterr().out.strip().startswith(printed)


def test_check_function_shows_plain_arguments(capsys):
    fh.check_function("area", lambda a, b: a + b, lambda a, b: a * b, (2, 2), (2, 3))
    assert capsys.readouterr().out == "not yet: area(2, 3) is 5, too small\n"


# ---------------------------------------------------------------- controls

@pytest.mark.parametrize("low, high, step", [(1, 0, 1), (1, 1, 1), (0, 1, 0), (0, 1, -1)])
def test_number_wants_low_below_high(low, high, step):
    with pytest.raises(ValueError, match="low < high and step > 0"):
        fh.number(low, high, step)


def test_choice_labels_its_options():
    assert fh.choice("relu", 3, ("none", "identity")).options == (("relu", "relu"), ("3", 3), ("none", "identity"))
    with pytest.raises(ValueError, match="choice needs options"):
        fh.choice()


@pytest.mark.parametrize("options, kind", [(range(6), "ToggleButtons"), (range(7), "Dropdown")])
def test_many_options_become_a_menu(options, kind):
    picker = fh.explore(Root(n=1), n=fh.choice(*options)).entries["n"].picker
    assert type(picker).__name__ == kind and picker.value == 1 and list(picker.options) == [(str(n), n) for n in options]


def test_a_logarithmic_slider_has_its_middle_at_the_geometric_mean_and_keeps_to_doublings():
    explorer = fh.explore(Root(n=16), n=fh.number(4, 64, 4, log=True))
    entry = explorer.entries["n"]
    assert (entry.slider.min, entry.slider.max, entry.slider.value) == (2, 6, 16)
    for dragged, n in [(2 ** 5, 32), (64, 64), (4, 4)]:
        entry.slider.value = dragged
        assert explorer.picture.values["n"] == n and entry.box.value == str(n) and entry.slider.value == pytest.approx(n)
    entry.box.value = "17"
    assert explorer.picture.values["n"] == 17 and entry.slider.value == 16
    with pytest.raises(ValueError, match="low > 0"):
        fh.number(0, 1, log=True)


@pytest.mark.parametrize("options", [("a", "a"), (("x", 1), ("x", 2)), ((0, 1, 2),)])
def test_choice_refuses_labels_that_cannot_be_told_apart(options):
    with pytest.raises(ValueError, match="different labels"):
        fh.choice(*options)


@pytest.mark.parametrize("control, error, words", [
    (fh.number, TypeError, "needs number"), (None, TypeError, "needs number"), ((0, 1), TypeError, "needs number"),
    (fh.number(2, 3), ValueError, "outside 2 to 3"), (fh.choice(5, 6), ValueError, "none of its options")])
def test_explore_says_an_authors_slip_at_once(control, error, words):
    with pytest.raises(error, match=words):
        fh.explore(Root(n=1), n=control)


def test_explore_checks_its_presets_at_once():
    with pytest.raises((TypeError, ValueError)):
        fh.explore(Root(n=1), {"bad": {"m": 1}}, n=fh.number(0, 9))


def test_a_preset_beside_the_options_leaves_no_button_lit_and_the_control_alive():
    explorer = fh.explore(Root(n=1), {"nine": {"n": 9}}, n=fh.choice(1, 4))
    explorer.apply({"n": 9})
    assert explorer.entries["n"].picker.value is None and explorer.picture.values["n"] == 9
    explorer.entries["n"].picker.value = 4
    assert explorer.picture.values["n"] == 4


def test_a_typed_number_between_two_steps_stays():
    explorer = fh.explore(Root(n=1), n=fh.number(0, 9, 0.5))
    explorer.entries["n"].box.value = "2.3"
    assert explorer.picture.values["n"] == 2.3 and explorer.entries["n"].box.value == "2.3"
    assert explorer.entries["n"].slider.value == 2.5        # the nearest step, so that the page sends none back


def test_the_page_sending_the_step_where_the_slider_stands_changes_nothing():
    explorer = fh.explore(Root(n=1), {"odd": {"n": 2.3}}, n=fh.number(0, 9, 0.5))
    explorer.apply({"n": 2.3})
    explorer.entries["n"].slider.value = 2.5000000000000004
    assert explorer.picture.values["n"] == 2.3 and explorer.entries["n"].box.value == "2.3"
    explorer.entries["n"].slider.value = 3
    assert explorer.picture.values["n"] == 3


def test_a_late_message_about_the_place_that_a_slider_has_left_changes_nothing(monkeypatch):
    """The page sends each place that it is told; after a preset, from another thread, that of the values before may still come."""
    explorer = fh.explore(Root(n=4), n=fh.number(1, 64, 1, log=True))
    entry, now = explorer.entries["n"], fh.time.monotonic()
    monkeypatch.setattr(fh.time, "monotonic", lambda: now)
    explorer.apply({"n": 16})
    entry.slider.set_state({"value": 4.0})
    assert explorer.picture.values["n"] == 16 and entry.slider.value == 16
    entry.slider.set_state({"value": 8.0})         # a hand
    assert explorer.picture.values["n"] == 8
    explorer.apply({"n": 16})
    now += 1
    entry.slider.set_state({"value": 8.0})         # a hand that goes back
    assert explorer.picture.values["n"] == 8 == entry.slider.value


def test_a_slider_never_leaves_its_range():
    explorer = fh.explore(Root(n=1), n=fh.number(0, 5, 3))
    explorer.entries["n"].slider.value = 5
    assert explorer.picture.values["n"] == 5


@pytest.mark.parametrize("style", [{"savefig.bbox": "tight"}, {"text.usetex": True}, {"axes.grid": True, "lines.linestyle": ":"},
                                   {"font.style": "italic", "savefig.transparent": True}, {"figure.constrained_layout.use": True}])
def test_a_picture_does_not_depend_on_the_readers_style(style):
    plain = Root(n=1).png(1)
    with fh.matplotlib.rc_context(style):
        assert Root(n=1).png(1) == plain


def test_check_function_keeps_the_cases_as_they_are():
    case = torch.zeros(2)
    fh.check_function("f", lambda x: x.add_(1), lambda x: x + 1, (case,))
    assert case.tolist() == [0, 0]


def test_explore_names_the_values_that_exist():
    with pytest.raises(ValueError, match="no value 'm' to control; the picture has n"):
        fh.explore(Root(n=1), m=fh.number(0, 1))


# ---------------------------------------------------------------- bad input, everywhere

BAD = {"text": "1", "text in a list": [1, "a"], "ragged": [[1, 2], [3]], "None": None, "None in a list": [1, None],
       "complex": 1j, "objects": np.array([1, {}], object), "dates": np.array(["2017-06-12"], "datetime64[D]"),
       "bytes": b"1", "set": {1, 2}, "dict": {"a": 1}, "function": len, "complex tensor": torch.ones(2, dtype=torch.complex64),
       "enormous integer": 10 ** 400, "NaN": NAN, "infinity": INF, "minus infinity": -INF, "NaN in a list": [1.0, NAN],
       "NaN in a tensor": torch.tensor([NAN]), "infinite float16": np.array([np.inf], np.float16), "1e308": 1e308, "-1e308": [-1e308]}
document = hand_worked.DOCUMENT
CALLS = {
    "checked": ("x", lambda bad: fh.checked("x", bad)),
    "tint": ("amount", lambda bad: fh.tint(fh.INK, bad)),
    "Bars": ("values", lambda bad: fh.Bars(Board(), [1, 2], 1).set(bad)),
    "number, low": ("low", lambda bad: fh.number(bad, 1)),
    "number, high": ("high", lambda bad: fh.number(0, bad)),
    "number, step": ("step", lambda bad: fh.number(0, 1, bad)),
    **{f"HandWorked, {name}": (name, lambda bad, name=name: hand_worked.HandWorked(**{**document, name: bad}))
       for name in document},
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("call", CALLS)
def test_bad_input_is_refused_by_name(call, kind):
    name, function = CALLS[call]
    with pytest.raises((ValueError, TypeError)) as caught:
        function(BAD[kind])
    assert str(caught.value).startswith(f"{name} ") and len(str(caught.value)) < 200


@pytest.mark.parametrize("kind", [kind for kind in BAD if kind not in ("1e308", "-1e308", "text", "bytes")])   # can be written
def test_num_refuses_what_it_cannot_write(kind):
    with pytest.raises((ValueError, TypeError), match="^value "):
        fh.num(BAD[kind])


# ---------------------------------------------------------------- what a hostile reader found

HIDDEN = np.ma.masked_array([1.0, 99.0], [False, True])
DEEP = []
DEEP.append(DEEP)


class Broken:
    def __array__(self, *args, **more):
        raise KeyError("no")

    __float__ = __array__


@pytest.mark.parametrize("call, message", [
    (lambda: fh.num("3"), "one real number, got str '3'"),
    (lambda: fh.num(np.ma.masked), "one real number, got MaskedConstant"),
    (lambda: fh.num(Broken()), "one real number, got Broken"),
    (lambda: fh.vec(HIDDEN), "an array of real numbers, got MaskedArray"),
    (lambda: fh.checked("x", Broken()), "x must be an array of real numbers, got Broken"),
    (lambda: fh.checked("x", DEEP), "x must be an array of real numbers, got list"),
    (lambda: fh.checked("n", 10 ** 400, ()), "n with shape () holds NaN or infinity"),
    (lambda: fh.activate(torch.ones(2).to(torch.float8_e4m3fn)), "z must be a dense tensor of numbers that torch computes with, got torch.float8_e4m3fn"),
    (lambda: drawable("names", ["a\x1fb"]), "names holds '\\x1f'"),
    (lambda: fh.verdict("C003", "true", True, "a\rC003 true: b"), "one line of text"),
    (lambda: fh.explore(hand_worked.default(), x=fh.choice((1, 2), (3, 4))), "x starts at ndarray"),
    (lambda: fh.explore(hand_worked.default(), activation=fh.switch()), "activation must be True or False"),
    (lambda: fh.explore(hand_worked.default(), {1: {}}), "a preset's label must be text, got int 1"),
    (lambda: fh.explore(hand_worked.default(), {"Reset": {}}), "cannot be called Reset"),
    (lambda: hand_worked.default().set(activation="x" * 99_999), "not known"),
])
def test_odd_numbers_are_refused_or_right(call, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)) as refusal:
        call()
    assert len(str(refusal.value)) < 300


def test_whole_numbers_beyond_64_bits_are_numbers(capsys):
    fh.check_number("parameters", 10 ** 20, 10 ** 20)
    assert capsys.readouterr().out == "correct: parameters\n"


def test_lists_that_hold_themselves_or_go_deep_come_to_an_end():
    nested = "下"
    for _ in range(3000):
        nested = [nested]
    drawable("names", DEEP)
    with pytest.raises(ValueError, match="names holds '下'"):
        drawable("names", nested)
    with pytest.raises(TypeError, match="x must be an array of real numbers"):
        fh.checked("x", nested)


@pytest.mark.parametrize("activation", fh.ACTIVATIONS)
def test_a_network_can_be_pickled(activation):
    net, x = fh.PositionWiseFFN(4, 8, activation), torch.ones(2, 4)
    assert torch.equal(pickle.loads(pickle.dumps(net))(x), net(x))


@pytest.mark.parametrize("moment", ["moving_svg", "set"])
def test_a_change_that_comes_in_another_thread_waits_for_its_turn(moment, monkeypatch):
    """JupyterLab 4.4 with ipykernel 7 sends the messages of widgets to the main thread and to a subshell's, in turn."""
    explorer = fh.explore(hand_worked.default(), x=fh.number(-5, 5, 0.5))
    first, second = explorer.entries.values()
    other = threading.Thread(target=second.slider.set_state, args=[{"value": -3.0}])
    owner = second if moment == "set" else explorer.picture
    usual = getattr(owner, moment)

    def slow(*arguments):
        found = usual(*arguments)
        if not other.ident:                        # the second hand moves while the first change is half done
            other.start(), other.join(0.3)
        return found if moment == "moving_svg" else usual(*arguments)

    monkeypatch.setattr(owner, moment, slow)
    first.box.set_state({"value": "4"})
    other.join()
    assert explorer.picture.values["x"].tolist() == [4, -3] and [entry.box.value for entry in (first, second)] == ["4", "−3"]
    assert bare(explorer.live.value) == bare(hand_worked.default().set(x=np.array([4.0, -3.0])).moving_svg())


def test_a_change_half_heard_is_not_taken_back_by_another(monkeypatch):
    """The whole message takes one turn: a slider that has its new place and has not told it yet could be set back."""
    explorer = fh.explore(hand_worked.default(), x=fh.number(-5, 5, 0.5))
    first, second = explorer.entries.values()
    other = threading.Thread(target=first.box.set_state, args=[{"value": "4"}])
    usual = second.slider.set_trait

    def slow(*arguments):
        usual(*arguments)
        if not other.ident:
            other.start(), other.join(0.3)

    monkeypatch.setattr(second.slider, "set_trait", slow)
    second.slider.set_state({"value": -3.0})
    other.join()
    assert explorer.picture.values["x"].tolist() == [4, -3] and second.slider.value == -3


@pytest.mark.parametrize("spec, control, heard", [(fh.number(0, 9), "box", {"value": "4"}), (fh.number(0, 9), "slider", {"value": 4.0}),
                                                  (fh.choice(1, 4), "picker", {"index": 1})])
def test_every_control_waits_while_another_change_has_its_turn(spec, control, heard):
    explorer = fh.explore(Root(n=1), n=spec)
    widget = getattr(explorer.entries["n"], control)
    before, late = widget.value, threading.Thread(target=widget.set_state, args=[heard])
    with fh._TURN:
        late.start(), late.join(0.2)
        assert widget.value == before
    late.join()
    assert explorer.picture.values["n"] == 4


def test_an_interrupt_leaves_values_picture_and_boxes_together(monkeypatch):
    explorer = fh.explore(hand_worked.default(), x=fh.number(-5, 5, 0.5))
    entry, update, left = explorer.entries["x₁"], type(explorer.picture).update, [1]

    def interrupted(picture):
        if left:
            left.pop()
            raise KeyboardInterrupt
        update(picture)

    monkeypatch.setattr(type(explorer.picture), "update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        explorer.picture.set(x=np.array([3.0, 3.0]))
    assert explorer.picture.values["x"].tolist() == [1, 2] and "x = [1, 2]" in explorer.picture.title
    monkeypatch.setattr(type(entry), "written", staticmethod(lambda value: (_ for _ in ()).throw(KeyboardInterrupt)))
    with pytest.raises(KeyboardInterrupt):
        entry.set(2.0)
    assert not entry.quiet
