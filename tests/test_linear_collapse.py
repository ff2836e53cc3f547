"""The pictures of notebook 01: their numbers against independent ones, their words, no state left behind."""
import random
import re

import numpy as np
import pytest
import torch

from figures import kink_fit, linear_collapse, pattern_angle, regions

FIGURES = [linear_collapse, kink_fit, regions, pattern_angle]
AMOUNTS = [0.05, 0.3, 0.5, 0.85, 1]
STEPS = [(2, 3, 4), (-1.5, -3.5, -2.5), (1, -4, 4), (-2, 0.5, 3), (0.5, 0, -1)]


def bare(svg):
    """The drawing without its definitions and with ids that do not depend on the picture's number."""
    return re.sub(r"<defs>.*?</defs>", "", re.sub(r"p\d+-", "p-", svg))


def shown(picture):
    found = picture.figure.findobj(lambda artist: hasattr(artist, "get_text") and artist.get_visible())
    return sorted(text.get_text() for text in found if text.get_text())


def numbers(text):
    return [float(found.replace("−", "-")) for found in re.findall(r"−?\d+(?:\.\d+)?", text)]


def read_lines(path, length):
    """The lines of one compound path, as an array (n, length, 2)."""
    return path.vertices.reshape(-1, length, 2)


# ---------------------------------------------------------------- independent arithmetic

def chain(x, steps, amount):
    a1, b1, a2 = steps
    return a2 * torch.nn.functional.leaky_relu(torch.as_tensor(a1 * x + b1), 1 - amount).numpy()


def smallest_largest_gap(x, y):
    """Largest gap of the best line by a nested search: for a slope the best offset is half way."""
    spread = lambda m: np.ptp(y - m * x) / 2
    low, high = -50.0, 50.0
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if spread(a) < spread(b) else (a, high)
    return spread((low + high) / 2)


def sheet_in_torch(points, sheet, amount):
    out, patterns = torch.as_tensor(points, dtype=torch.float64), []
    for i, (W, b) in enumerate(sheet):
        out = out @ torch.as_tensor(W) + torch.as_tensor(b)
        if i < 2:
            patterns.append((out > 0).numpy())
            out = torch.nn.functional.leaky_relu(out, 1 - amount)
    return out.numpy(), patterns


def lower_bound(x, y, rounds=1000):
    """No affine map keeps all points closer than this: for any weights that sum to 1, the weighted mean of
    the least squares is at most the largest square. Points that lose all weight are dropped on the way."""
    A, weight, best = np.column_stack([x, np.ones(len(x))]), np.full(len(x), 1 / len(x)), 0
    for _ in range(rounds):
        root = np.sqrt(weight)[:, None]
        miss = np.linalg.norm(y - A @ np.linalg.lstsq(root * A, root * y, rcond=None)[0], axis=1)
        best = max(best, float(np.sqrt(weight @ miss ** 2)))
        weight = weight * miss
        keep = weight > 1e-4 * weight.max()
        A, y, weight = A[keep], y[keep], weight[keep] / weight[keep].sum()
    return best


EDGE = np.linspace(-2, 2, 401)                               # a crease may end anywhere on the border
SQUARE = np.concatenate([np.stack(np.meshgrid(EDGE[::20], EDGE[::20]), -1).reshape(-1, 2)]
                        + [np.column_stack(pair) for end in (np.full(401, -2), np.full(401, 2)) for pair in ((EDGE, end), (end, EDGE))])


# ---------------------------------------------------------------- the collapse: the line

@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("amount", AMOUNTS)
def test_no_line_is_closer_than_the_dotted_one(steps, amount):
    picture = linear_collapse.default().set(**dict(zip(("a1", "b1", "a2"), steps)), relu=amount)
    row = picture.rows[1]
    x = np.linspace(-5, 5, 20001)
    y = chain(x, steps, amount)
    drawn = np.interp(x, *row.dots.get_path().vertices.T)
    gap = np.abs(drawn - y).max()
    assert gap == pytest.approx(smallest_largest_gap(x, y), abs=2e-3)
    assert numbers(row.on_line.get_text())[0] == pytest.approx(gap, abs=6e-3)
    assert np.interp(x, *row.graph.get_path().vertices.T) == pytest.approx(y, abs=5e-3)


@pytest.mark.parametrize("x", [-5, -1.5, 0, 3.5, 5])
@pytest.mark.parametrize("amount", [0, 0.5, 1])
def test_the_values_on_the_way_are_the_steps_values(x, amount):
    picture = linear_collapse.default().set(x=x, relu=amount)
    z = 2 * x + 3
    h = z if z > 0 else (1 - amount) * z
    assert [numbers(text.get_text()) for text in picture.rows[0].between] == [[2 * x], [z]]
    assert [numbers(text.get_text()) for text in picture.rows[1].between] == [[2 * x], [z], [h]]
    assert [numbers(row.y_out.get_text()) for row in picture.rows] == [[8 * x + 12], [4 * h]]
    m, c = numbers(picture.rows[1].fold.get_text())
    assert numbers(picture.rows[1].y_one.get_text())[0] == pytest.approx(m * x + c, abs=0.04)
    equal = numbers(picture.rows[1].y_one.get_text()) == [4 * h]
    assert picture.rows[1].sign.get_text() == ("=" if equal else "≠")


# ---------------------------------------------------------------- the collapse: the sheet

@pytest.mark.parametrize("amount", AMOUNTS)
def test_the_gap_of_the_sheet_is_the_smallest_largest_gap(amount):
    picture = linear_collapse.default().set(relu=amount)
    sheet = picture.values["sheet"]
    drawn = linear_collapse._sheet(linear_collapse._key(sheet), 1 - amount)
    y, _ = sheet_in_torch(SQUARE, sheet, amount)
    corners = drawn["best"][[0, 0, 2, 2], [0, 1, 0, 1]]        # where the dotted step sends the square's corners
    A = np.column_stack([[(-2, -2), (-2, 2), (2, -2), (2, 2)], np.ones(4)])
    T = np.linalg.lstsq(A, corners, rcond=None)[0]
    assert A @ T == pytest.approx(corners, abs=1e-9)          # it is one affine step
    largest = np.linalg.norm(y - np.column_stack([SQUARE, np.ones(len(SQUARE))]) @ T, axis=1).max()
    assert largest <= drawn["gap"] * 1.0001
    assert drawn["gap"] <= 1.01 * lower_bound(SQUARE, y)


def test_the_gap_leaves_0_with_the_amount_and_never_shrinks():
    picture = linear_collapse.default()
    gaps = [numbers(picture.set(relu=amount / 10).rows[1].on_sheet.get_text())[0] for amount in range(11)]
    assert gaps[0] == 0 < gaps[1] and gaps == sorted(gaps)
    assert picture.rows[0].on_sheet.get_text() == "On a sheet: gap 0"


@pytest.mark.parametrize("point", [(1, -1), (-1, 1), (-2, -2), (0.5, 2), (2, 0)])
@pytest.mark.parametrize("amount", [0, 0.4, 1])
def test_the_point_lands_where_torch_sends_it(point, amount):
    picture = linear_collapse.default().set(point=point, relu=amount)
    out, patterns = sheet_in_torch(np.array([point, (-2, -2), (2, 2)]), picture.values["sheet"], amount)
    marks = read_lines(picture.rows[1].points.get_path(), len(linear_collapse.fh.circle(0, 0, 1).vertices))
    at = marks[0].mean(0)
    grid = read_lines(picture.rows[1].grid.get_path(), 1)[:, 0]
    near = np.linalg.norm(grid - at, axis=1).min()
    assert near < 12                                           # it lies on the drawn sheet
    scale, middle = linear_collapse._frame(linear_collapse._key(picture.values["sheet"]))
    x, y, width, height = linear_collapse.VIEW
    want = (out[0] - middle) * (scale, -scale) + (x + width / 2, linear_collapse.ROWS[1] + y + height / 2)
    assert (marks[0].min(0) + marks[0].max(0)) / 2 == pytest.approx(want, abs=1e-6)
    circles = re.sub("[^○●]", "", picture.rows[1].caption.get_text())
    assert amount or picture.rows[1].caption.get_text().startswith("no unit is off")
    assert not amount or circles == "".join("○●"[int(unit)] for layer in patterns for unit in layer[0])


@pytest.mark.parametrize("amount", [0, 0.25, 0.5, 0.75, 1])
def test_the_sheet_and_its_dots_stay_in_their_box(amount):
    picture = linear_collapse.default().set(relu=amount)
    x, y, width, height = linear_collapse.VIEW
    for row in picture.rows:
        for patch in (row.best, *row.facets[1:]):
            points = patch.get_path().vertices
            if len(points):
                assert x - 1 <= points[:, 0].min() and points[:, 0].max() <= x + width + 1
                assert row.top + y - 1 <= points[:, 1].min() and points[:, 1].max() <= row.top + y + height + 1


# ---------------------------------------------------------------- the collapse: words

def test_texts_at_the_default():
    assert shown(linear_collapse.default()) == sorted([
        "Linear steps fold into one step; with a ReLU in between they cannot",
        "Without a ReLU one step does it all (line: × 8 + 12). With it the best misses by 9.1 on the line, 0.7 on the sheet.",
        "Grey: the steps. Dots: the affine step whose largest gap is smallest; bars: that gap. Thick: a crease. "
        "● unit on at the point, ○ off.",
        "Without a ReLU", "With a ReLU", "ReLU", "=", "≠", "x", "x", "y", "y",
        *["x = −5"] * 4, "y = −28", "y = −28", "y = 0", "y = −9.1", *["× 2", "+ 3", "× 4"] * 2, "−10", "−10", "−7", "−7", "0",
        "× 8     + 12", "× 5.2     + 16.9", "slope 2 · 4 = 8; the documents’ 26 would give −118", "offset 3 · 4 = 12",
        "no single step gets closer than 9.1", "y bends at x = −1.5", "On a line: gap 0", "On a line: gap 9.1",
        "On a sheet: gap 0", "On a sheet: gap 0.7", "a square grid, 3 affine maps", "layer 1 ●●○, layer 2 ●●●",
        *["−5", "0", "5", "−50", "0", "50"] * 2])


@pytest.mark.parametrize("values, title", [
    (dict(relu=0), "ReLU amount 0: nothing is cut, so both rows fold into one step"),
    (dict(relu=0.5), "Negatives times 0.5 instead of 1: the steps no longer fold into one"),
    (dict(a1=0.5, b1=4), "The line does not bend: every x shown is on one side of the ReLU"),
    (dict(a1=0), "y is the same for every x: here the line has nothing to bend"),
    (dict(a2=0), "y is the same for every x: here the line has nothing to bend")])
def test_the_title_says_when_nothing_bends(values, title):
    assert linear_collapse.default().set(**values).title == title


@pytest.mark.parametrize("values", [
    {}, dict(relu=0), dict(relu=0.05), dict(a1=-2), dict(a1=0), dict(b1=-4), dict(b1=4), dict(a2=-4), dict(a2=0),
    dict(a1=-2, b1=4, a2=-4, relu=0.6)])
def test_the_sentence_agrees_with_the_numbers(values):
    picture = linear_collapse.default().set(**values)
    v = picture.values
    m, c, *gaps = numbers(picture.sentence.replace("+ ", "").replace("− ", "−"))
    assert m == pytest.approx(v["a1"] * v["a2"], abs=0.005) and c == pytest.approx(v["b1"] * v["a2"], abs=0.005)
    x = np.linspace(-5, 5, 20001)
    gap = smallest_largest_gap(x, chain(x, (v["a1"], v["b1"], v["a2"]), v["relu"]))
    assert gaps[0] == pytest.approx(gap, abs=0.007)
    assert (v["relu"] == 0) == ("Both rows" in picture.sentence)


def test_the_slip_is_shown_beside_the_documents_steps_only():
    picture = linear_collapse.default()
    assert "26 would give 38" in picture.set(x=1).rows[0].notes[0].get_text()
    assert "26" not in picture.set(a1=1).rows[0].notes[0].get_text()


# ---------------------------------------------------------------- all pictures

def settings(module, rng):
    if module is linear_collapse:
        return dict(a1=rng.randint(-4, 4) / 2, b1=rng.randint(-8, 8) / 2, a2=rng.randint(-8, 8) / 2, relu=rng.randint(0, 20) / 20,
                    x=rng.randint(-10, 10) / 2, point=[rng.randint(-8, 8) / 4, rng.randint(-8, 8) / 4])
    if module is kink_fit:
        return dict(k=rng.choice([0, 8, 16, 32, 64, 128]))
    if module is regions:
        return dict(point=[rng.randint(-12, 12) / 4, rng.randint(-12, 12) / 4], spread=rng.randint(0, 15) / 10)
    return dict(angle=[30, 60, rng.randint(0, 180)], differing=[rng.random(), 0.3, 0.5])


@pytest.mark.parametrize("module", FIGURES, ids=lambda module: module.__name__)
def test_no_state_is_left_behind(module):
    rng, picture = random.Random(3), module.default()
    for step in range(100):
        drawn = bare(picture.set(**settings(module, rng)).moving_svg())
        assert len(drawn) < 60_000 and 0 < len(picture.alt.split()) <= 40
        if step % 50 == 49:
            fresh = type(picture)(**picture.values)
            assert drawn == bare(fresh.moving_svg())
    assert picture.png(1) == fresh.png(1)


@pytest.mark.parametrize("module", FIGURES, ids=lambda module: module.__name__)
def test_no_text_leaves_the_page(module):
    rng, picture = random.Random(5), module.default()
    width, height = picture.size
    for _ in range(12):
        picture.set(**settings(module, rng))
        picture.figure.canvas.draw()
        for text in picture.page.texts:
            box = text.get_window_extent()
            assert not text.get_text() or (box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height), text


@pytest.mark.parametrize("module, bad, error, says", [
    (linear_collapse, dict(a1=3), ValueError, "a1"), (linear_collapse, dict(relu=-0.1), ValueError, "0 to 1"),
    (linear_collapse, dict(relu=1.5), ValueError, "relu"), (linear_collapse, dict(x=float("nan")), ValueError, "NaN"),
    (linear_collapse, dict(x="five"), TypeError, "x must be"), (linear_collapse, dict(point=[1, 2, 3]), ValueError, r"\(3,\), expected \(2,\)"),
    (linear_collapse, dict(sheet=[1]), ValueError, "three pairs"),
    (linear_collapse, dict(sheet=[(np.eye(2), [0, 0])] * 2 + [(np.eye(3), [0, 0, 0])]), ValueError, "W3"),
    (kink_fit, dict(k=7), ValueError, "expected one of"),
    (kink_fit, dict(fits={0: ([], np.zeros(6001)), 16: ([-3.0] * 16, np.zeros(6001))}), ValueError, "at an end nothing bends"), (kink_fit, dict(target=[0, 1]), ValueError, "target"),
    (regions, dict(W1=np.zeros((2, 3)), b1=[1, 2, 3]), ValueError, "column of zeros"), (regions, dict(b1=[1]), ValueError, "b1"),
    (regions, dict(point=[9, 0]), ValueError, "point"),
    (pattern_angle, dict(differing=[0.5]), ValueError, "differing"), (pattern_angle, dict(angle=[200]), ValueError, "angle")])
def test_refused_input_keeps_the_picture(module, bad, error, says):
    picture = module.default()
    before = bare(picture.moving_svg())
    with pytest.raises(error, match=says):
        picture.set(**bad)
    assert bare(picture.moving_svg()) == before


# ---------------------------------------------------------------- bends, regions, angles

def test_errors_of_the_bends():
    picture = kink_fit.default()
    x = picture.values["x"]
    for k, error in [(8, 0.359), (16, 0.0958), (32, 0.0249), (64, 0.00631), (128, 0.0016)]:
        knots = -3 + 6 / (k + 1) * np.arange(1, k + 1)
        h = np.column_stack([np.ones_like(x), x, *np.clip(x - knots[:, None], 0, None)])
        fitted = h @ np.linalg.solve(h.T @ h, h.T @ np.sin(3 * x))
        assert np.abs(fitted - np.sin(3 * x)).max() == pytest.approx(error, rel=0.01)
        assert numbers(picture.set(k=k).title) == [k, pytest.approx(error, abs=6e-4)]
        assert np.interp(x, *picture.fit.get_data()) == pytest.approx(fitted, abs=2e-3)
        marks = [len(patch.get_path().vertices) for patch in (picture.knots, picture.strokes)]
        assert sorted(marks) == [0, 5 * k]
        slopes = np.diff(picture.fit.get_ydata()) / np.diff(picture.fit.get_xdata())
        assert len(slopes) == k + 1 and (np.abs(np.diff(slopes)) > 1e-6).all()      # k bends that bend
        strip = np.interp(x, *picture.misses.get_data()) * error
        assert strip == pytest.approx(fitted - np.sin(3 * x), abs=0.15 * error)
        assert np.abs(picture.top.get_ydata()[0]) == pytest.approx(1) and list(picture.worst.get_ydata()) == [0, picture.top.get_ydata()[0]]
        assert numbers(picture.scale[0].get_text())[0] == pytest.approx(error, abs=6e-4)
        assert picture.current.get_data()[1][0] == pytest.approx(error, rel=0.01)
    assert "straight line misses" in picture.set(k=0).title
    assert picture.current.get_data()[0][0] == -1 and picture.current.get_data()[1][0] == pytest.approx(1.168, abs=1e-3)


def test_no_words_meet_in_the_states_that_are_tight():
    picture = linear_collapse.default()
    for values in (dict(relu=0.5), dict(relu=0.35, a1=-1.5, b1=-3.5, a2=-2.5, x=-4.5), dict(relu=0.55, a1=1.5, a2=-3.5)):
        picture.set(**values)
        picture.figure.canvas.draw()
        right = lambda text: text.get_window_extent().x1
        for row in picture.rows:
            assert max(right(row.y_out), right(row.y_one)) < linear_collapse.LINE["x"] - 12
            assert right(row.on_line) < row.on_sheet.get_window_extent().x0
            assert right(row.on_sheet) < linear_collapse.INPUT[0] - 2
            assert right(row.x_in) <= linear_collapse.ENTRY


@pytest.mark.parametrize("spread", [0, 0.4, 1, 1.5])
def test_regions_are_the_patterns_that_occur(spread):
    picture = regions.default().set(spread=spread)
    W1, b1 = picture.values["W1"], picture.values["b1"] * spread
    pieces = regions._regions(W1.tobytes(), b1.tobytes())
    axis = np.linspace(-2.999, 2.999, 600)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    found = {tuple(row) for row in (grid @ W1 + b1 > 0).tolist()}
    assert found <= {pattern for _, pattern in pieces} and len(pieces) <= 137
    assert len(pieces) - len(found) <= 0.15 * len(pieces)      # the grid misses slivers only
    area = lambda c: 0.5 * sum(ax * by - bx * ay for (ax, ay), (bx, by) in zip(c, c[1:] + c[:1]))
    assert sum(area(corners) for corners, _ in pieces) == pytest.approx(36)
    for corners, pattern in pieces:
        assert ((np.mean(corners, axis=0) @ W1 + b1 > 0) == pattern).all()
    assert numbers(picture.title)[:2] == [16, len(pieces)]
    assert spread or len(pieces) == 32


@pytest.mark.parametrize("point", [(-1.5, 2), (1, 0.5), (0, 0), (-3, -3)])
def test_the_strip_shows_the_pattern_at_the_point(point):
    picture = regions.default().set(point=point)
    z = np.array(point) @ picture.values["W1"] + picture.values["b1"]
    lit = read_lines(picture.on.get_path(), 5)[:, 0, 0]
    assert lit.tolist() == picture.left[z > 0].tolist()
    assert f"{(z > 0).sum()} of 16 units are on" in picture.sentence
    assert len(picture.mine[0].get_path().vertices) >= 4       # its region is outlined


def test_the_angles_sentence_is_computed():
    picture = pattern_angle.default()
    assert 0 < numbers(picture.sentence.replace(",", ""))[2] < 5
    assert "more than 20 points" in picture.set(angle=[90, 180], differing=[0.3, 1]).sentence
