"""The pictures of notebook 05: their numbers against torch, their words, and no state left behind."""
import itertools
import random
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import ffn_helpers as fh
from figures import activation_pair, activation_table, dead_unit
from tests.drawing import Recorder, bare, off_page, overlaps, published

FIGURES = [activation_pair, activation_table, dead_unit]
NAMES = "ReLU", "GELU", "z σ(1.702 z)", "SiLU"
PAIRS = list(itertools.combinations(NAMES, 2))
QUICK = lambda z: z * torch.sigmoid(1.702 * z)
TORCH = dict(zip(NAMES, (F.relu, F.gelu, QUICK, F.silu)))
BOXES = dict(zip(("share", "output", "slope"), (activation_pair.SHARE, activation_pair.OUTPUT, activation_pair.SLOPE)))


@pytest.fixture(scope="module")
def pair_picture():
    return activation_pair.default()


def shown(picture):
    return sorted(label.text for label in Recorder(picture).labels)


def says(text, value):
    """Is a number in a text, to its last written digit?"""
    return any(abs(float(found.replace("−", "-")) - value) <= 0.5001 * 10 ** -len(found.partition(".")[2])
               for found in re.findall(r"−?\d+(?:\.\d+)?", text))


def reference(name, z):
    """Share, output and slope at one z, apart from the picture's own code."""
    z = torch.tensor(float(z), dtype=torch.float64, requires_grad=True)
    output = TORCH[name](z)
    slope, = torch.autograd.grad(output, z)
    return {"share": (output / z).item(), "output": output.item(), "slope": slope.item()}


# ---------------------------------------------------------------- the pair

@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("z", [-4, -1.278, -0.31, 0.05, 1.965, 4])
def test_readings_and_points_are_what_torch_computes(pair_picture, pair, z):
    picture = pair_picture.set(pair=pair, z=z)
    here = [reference(name, z) for name in pair]
    for kind, reading in zip(BOXES, picture.readings):
        parts = re.fullmatch(r"● (.+)    ○ (.+)", reading.get_text()).groups()
        for part, name, want in zip(parts, pair, here):
            assert part.startswith(name + " ")
            if kind == "share" and (0 < want[kind] < 0.005 or 0.995 < want[kind] < 1):
                assert part == name + (" <1 %" if want[kind] < 0.5 else " >99 %")
                continue
            assert says(part[len(name):], want[kind] * (100 if kind == "share" else 1)), (part, want)
    assert says(picture.readings[3].get_text(), abs(here[0]["output"] - here[1]["output"]))
    for patch, want in [(picture.dots, here[0]), (picture.rings, here[1])]:
        centres = [corners.mean(0) for corners in _circles(patch)]
        for (kind, box), centre in zip(BOXES.items(), centres):
            x = box["x"] + 400 * (z + 4) / 8
            y = box["y"] + box["height"] * (box["high"] - want[kind]) / (box["high"] - box["low"])
            assert np.allclose(centre, (x, y), atol=0.1), kind


def _circles(patch):
    path = patch.get_path()
    starts = np.flatnonzero(path.codes == path.MOVETO)
    for start, end in zip(starts, [*starts[1:], len(path.codes)]):
        corners = path.vertices[start:end - 1]                # the last one only closes it
        yield np.array([corners.min(0), corners.max(0)])


@pytest.mark.parametrize("z", [-4, -1, 0, 0.5, 4])
def test_gauges_are_as_long_as_what_is_kept(pair_picture, z):
    picture = pair_picture.set(pair=("GELU", "SiLU"), z=z)
    full = activation_pair._y(activation_pair.SHARE, 0) - activation_pair._y(activation_pair.SHARE, 1)
    kept = [np.ptp(box.reshape(-1, 2)[:, 1]) / full for box in _pieces(picture.kept)]
    removed = [np.ptp(box.reshape(-1, 2)[:, 1]) / full for box in _pieces(picture.removed)]
    want = [torch.special.ndtr(torch.tensor(float(z))).item(), torch.sigmoid(torch.tensor(float(z))).item()]
    assert np.allclose(kept, want, atol=1e-6) and np.allclose(np.add(kept, removed), 1, atol=1e-6)


def _pieces(patch):
    vertices = patch.get_path().vertices
    return vertices.reshape(-1, 5, 2)


# Values of the ledger, found there with a finer grid and other code.
EXTREMES = [("GELU", -0.16997, -0.7518, 1.1289), ("SiLU", -0.27846, -1.2785, 1.0998)]


@pytest.mark.parametrize("name, lowest, at, steepest", EXTREMES)
def test_extremes(name, lowest, at, steepest):
    curves = activation_pair._curves(activation_pair.default().values["shares"][name])
    assert curves["output"].min() == pytest.approx(lowest, abs=1e-5)
    assert activation_pair.GRID[curves["output"].argmin()] == pytest.approx(at, abs=1e-3)
    assert curves["slope"].max() == pytest.approx(steepest, abs=1e-4)
    picture = activation_pair.default()
    assert says(picture.records[0].get_text(), lowest) and says(picture.records[1].get_text(), steepest)


@pytest.mark.parametrize("pair, gap, at, words", [
    (("ReLU", "GELU"), 0.170, 0.752, "rounds the corner"), (("ReLU", "SiLU"), 0.278, 1.278, "rounds the corner"),
    (("GELU", "SiLU"), 0.193, 1.965, "GELU’s largest gap: 0.170 to ReLU, 0.193 to SiLU"), (("GELU", "z σ(1.702 z)"), 0.020, 2.270, "nearly coincide")])
def test_largest_gap_stands_in_title_and_panel(pair_picture, pair, gap, at, words):
    picture = pair_picture.set(pair=pair[::-1])            # the order is that of the shares
    assert picture.values["pair"] == pair
    assert words in picture.title and f"{gap:.3f}" in picture.title
    assert picture.records[2].get_text() == f"◇ widest {gap:.3f} at ±{at:.3f}"
    box = activation_pair.GAP
    highest = picture.gap_up.get_path().vertices[:, 1].min()
    drawn = box["high"] - (highest - box["y"]) / box["height"] * (box["high"] - box["low"])
    assert drawn == pytest.approx(gap, abs=2e-3)


def test_area_below_zero_appears_only_where_the_second_is_higher():
    picture = activation_pair.default()
    assert not len(picture.gap_down.get_path().vertices) and not len(picture.between_down.get_path().vertices)
    picture.set(pair=("GELU", "z σ(1.702 z)"))
    assert len(picture.gap_down.get_path().vertices) and len(picture.between_down.get_path().vertices)


def test_relu_is_drawn_with_a_jump_and_its_slope_at_0_is_0():
    picture = activation_pair.default().set(pair=("ReLU", "SiLU"), z=0)
    path = picture.first.get_path()
    assert np.count_nonzero(path.codes == path.MOVETO) == 4 + 2         # 4 curves, 2 of them with a jump
    assert "ReLU 0.000" in picture.readings[2].get_text() and "ReLU keeps 0 %" in picture.sentence


def test_every_curve_stays_in_its_panel():
    for name, share in activation_pair.default().values["shares"].items():
        curves = activation_pair._curves(share)
        for kind, box in BOXES.items():
            assert box["low"] <= curves[kind].min() and curves[kind].max() <= box["high"], (name, kind)
    gaps = [activation_pair._curves(share)["output"] for share in activation_pair.default().values["shares"].values()]
    for a, b in itertools.combinations(gaps, 2):
        assert activation_pair.GAP["low"] < (a - b).min() and (a - b).max() < activation_pair.GAP["high"]


def test_the_default_says_what_it_shows():
    picture = activation_pair.default()
    assert picture.sentence == "At z = −1, GELU keeps 16 % of z and SiLU 27 %: −0.159 and −0.269 come out, 0.110 apart."
    ticks = ["−4", "−2", "0", "2", "4"] * 2 + ["0", "50 %", "100 %", "0", "2", "4", "0", "1", "0", "0.1", "0.2", "0.3"]
    assert shown(picture) == sorted(ticks + [
        picture.title, picture.sentence, "1  Share of z that is kept", "2  Output: z × share", "3  Slope", "4  Gap", "× z",
        "z, before the activation", "z, before the activation", "Dark: kept. Hatched: removed. ◇ marks an extreme.",
        "the dip,", "6 × taller", "GELU", "SiLU", "ReLU", "● GELU 16 %    ○ SiLU 27 %", "● GELU −0.159    ○ SiLU −0.269",
        "● GELU −0.083    ○ SiLU 0.072", "here 0.110", "◇ lowest −0.170, −0.278", "◇ steepest 1.129, 1.100", "◇ widest 0.193 at ±1.965"])


def test_no_texts_meet_or_leave_the_page_in_any_pair():
    picture = activation_pair.default()
    for pair in PAIRS:
        for z in (-4, -0.55, 0.85, 3.95):
            labels = Recorder(picture.set(pair=pair, z=z)).labels
            assert not off_page(labels, picture.size) and not overlaps(labels), (pair, z)
            assert len(picture.alt.split()) <= 40


# ---------------------------------------------------------------- the unit

def test_slopes_are_counted_as_autograd_finds_them():
    picture = dead_unit.default()
    for bias in (-8, -5, -2.3, -1, 0, 2.5, 4):
        picture.set(bias=bias)
        z = torch.tensor(picture.values["z"] + bias, requires_grad=True)
        slopes = [torch.autograd.grad(function(z).sum(), z)[0] for function in (F.relu, F.gelu, F.silu)]
        for slope, lessons, largest, bars in zip(slopes, picture.lessons, picture.largest, picture.slopes):
            assert lessons.get_text() == f"not 0: {int((slope != 0).sum())} of 48"
            biggest = slope.abs().max().item()
            assert (largest.get_text().endswith("exactly 0") if biggest == 0 else
                    "below 0.001" in largest.get_text() if biggest < 0.001 else says(largest.get_text(), biggest))
            heights = [np.ptp(box[:, 1]) / dead_unit.HEIGHT for patch in (bars.up, bars.down) for box in _pieces(patch)]
            assert sorted(heights) == pytest.approx(sorted(slope[slope != 0].abs().tolist()), abs=1e-6)
        off = int((z <= 0).sum())
        assert picture.on.get_text() == f"on for {48 - off} of 48"
        hatched = np.ptp(picture.cut.get_path().vertices[:, 0]) if off else 0
        assert hatched == pytest.approx(dead_unit.WIDE * off / 48)


def test_dead_is_said_only_when_every_token_is_off():
    picture = dead_unit.default()
    last = picture.values["z"].max()
    assert "still learns from 1" in picture.set(bias=-last + 1e-6).title
    assert "dead" in picture.set(bias=-last).title                     # z = 0 is off
    assert "nothing is cut" in picture.set(bias=-picture.values["z"].min() + 1e-6).title


# ---------------------------------------------------------------- the table

def test_table_marks_as_many_claims_as_it_corrects():
    picture = activation_table.default()
    assert picture.title.startswith("Five claims") and len(picture.notes) == 5
    fewer = picture.values["corrections"][:3]
    assert activation_table.ActivationTable(**{**picture.values, "corrections": fewer}).title.startswith("Three claims")


@pytest.mark.parametrize("row, words, bright", [
    ("ReLU", "ReLU: 2 matrices, log-perplexity 1.677; 1 correction: 1.", [0]),
    ("SiLU", "SiLU: 2 matrices, log-perplexity 1.683, 0.006 above ReLU’s; 2 corrections: 3, 4.", [2, 3]),
    ("GEGLU", "GEGLU: 3 matrices, log-perplexity 1.633, 0.044 below ReLU’s; 1 correction: 5.", [4])])
def test_a_row_is_picked(row, words, bright):
    picture = activation_table.default().set(row=row)
    assert picture.sentence == words
    assert [i for i, note in enumerate(picture.notes) if note.get_color() == fh.INK] == bright
    top = activation_table.FIRST + activation_table.ROW * list(picture.values["stated"]).index(row)
    edges = picture.picked.get_path().vertices[:, 1]
    assert top <= edges.min() and edges.max() <= top + activation_table.ROW
    assert not len(picture.set(row="all").picked.get_path().vertices)


def test_dots_stand_at_their_numbers():
    picture = activation_table.default()
    centres = {}
    for patch in picture.page.patches:
        box = patch.get_path().get_extents()
        if abs(box.width - 14) < 0.1 and abs(box.height - 14) < 0.1:
            centres[round((box.y0 + box.y1) / 2)] = ((box.x0 + box.x1) / 2, patch.get_facecolor()[0])
    values = np.array(list(picture.values["published"].values()))
    xs, shades = zip(*(centres[y] for y in sorted(centres)))
    left, right = activation_table.DOTS
    assert np.allclose(xs, left + (right - left) * (values - values.min()) / np.ptp(values), atol=0.01)
    assert [shade < 0.5 for shade in shades] == [False, False, False, True, True]      # gated ones are filled


def test_wrong_words_are_struck_out():
    picture = activation_table.default()
    struck = [line for line in picture.page.lines if line.get_linewidth() == 1.6]
    words = [text for text in picture.page.texts if text.get_text() in ("original BERT", "general LLMs")]
    assert sorted(line.get_ydata()[0] for line in struck) == sorted(text.get_position()[1] for text in words) and len(words) == 2


# ---------------------------------------------------------------- all three

STATES = {
    activation_pair: lambda r: dict(pair=r.choice(PAIRS), z=round(r.uniform(-4, 4), 2)),
    activation_table: lambda r: dict(row=r.choice(["all", "ReLU", "GELU", "SiLU", "SwiGLU", "GEGLU"])),
    dead_unit: lambda r: dict(bias=round(r.uniform(-7, 3), 1))}


@pytest.mark.parametrize("figure", FIGURES)
def test_nothing_is_left_behind_by_a_walk_through_the_controls(figure):
    walk, chance = figure.default(), random.Random(5)
    walk.still_svg()
    for step in range(100):
        walk.set(**STATES[figure](chance))
        if step % 33 == 32:
            fresh = type(walk)(**walk.values)
            assert bare(walk.moving_svg()) == bare(fresh.moving_svg())
    assert len(walk.moving_svg()) < 45_000
    start = figure.default()
    assert walk.set(**{key: start.values[key] for key in STATES[figure](chance)}).png(1) == start.png(1)


def test_every_drawing_finds_its_glyphs_in_itself_or_in_what_stays():
    for figure in FIGURES:
        picture, chance = figure.default(), random.Random(1)
        stays = picture.still_svg()
        for _ in range(12):
            moves = picture.set(**STATES[figure](chance)).moving_svg()
            used = set(re.findall(r'(?:href="|url\()#([^")]+)', moves))
            assert used and used <= set(re.findall(r' id="([^"]+)"', stays + moves))


HALF = lambda z: 0.5 * torch.ones_like(z)
TWICE = lambda z: 2 * torch.sigmoid(z)


@pytest.mark.parametrize("figure, bad, error, words", [
    (activation_pair, dict(z=4.1), ValueError, "z with shape"), (activation_pair, dict(z="far"), TypeError, "z must"),
    (activation_pair, dict(z=float("nan")), ValueError, "NaN"), (activation_pair, dict(pair=("GELU", "GELU")), ValueError, "pair"),
    (activation_pair, dict(pair=("GELU", "Mish")), ValueError, "pair must be two of ReLU, GELU"), (activation_pair, dict(pair="GELU"), TypeError, "pair must be a list or tuple"),
    (activation_pair, dict(shares={"half": HALF, "SiLU": torch.sigmoid}), ValueError, "share of half"),
    (activation_pair, dict(shares={"twice": TWICE, "SiLU": torch.sigmoid}), ValueError, "share of twice must be 0 to 1"),
    (activation_pair, dict(shares=[torch.sigmoid]), TypeError, "shares must be a dict"),
    (dead_unit, dict(bias=12), ValueError, "bias is 12"), (dead_unit, dict(bias=None), TypeError, "bias"),
    (dead_unit, dict(z=np.zeros((8, 2))), ValueError, r"z has shape \(8, 2\), expected \(tokens,\)"), (dead_unit, dict(z=np.zeros(3)), ValueError, "8 to 100"),
    (dead_unit, dict(activations={"ReLU": torch.relu}), TypeError, "3 functions"),
    (activation_table, dict(row="Mish"), ValueError, "expected all or one of ReLU"), (activation_table, dict(published={"ReLU": 1.0}), ValueError, "published must be given"),
    (activation_table, dict(corrections=[("speed", ["ReLU"], "", "")]), ValueError, "corrections")])
def test_refused_input_leaves_the_picture_as_it_was(figure, bad, error, words):
    picture = published(figure)
    before, values = picture.moving_svg(), picture.values
    with pytest.raises(error, match=words):
        picture.set(**bad)
    assert picture.values is values and picture.moving_svg() == before
