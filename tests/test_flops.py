"""The pictures of notebook 08: what they draw against the file and against loops, their words, and no state left behind."""
import csv
import random
import re

import numpy as np
import pytest

import model_costs
from figures import flops, kv_cache, parameter_shares
from figures.flops import BOTTOM, OWN, SIZES, STRIPS, TOP, X0, X1
from tests.drawing import Recorder, bare, off_page, overlaps

with open(model_costs.DATA, encoding="utf-8") as file:
    FILE = {row["name"]: row for row in csv.DictReader(file)}
NAMES = sorted(model_costs.models())
TINY = dict(model=OWN, layers=2, d_model=64, d_ff=64, heads=1, kv_heads=1, gated=False, vocab=262144)
HUGE = dict(model=OWN, layers=128, d_model=32768, d_ff=131072, heads=128, kv_heads=128, gated=True, vocab=262144)
sizes_of = lambda name: {size: getattr(model_costs.find(name), size) for size in SIZES}
place = lambda length: X0 + (X1 - X0) * (np.log2(length) - 6) / 14


def good_page(picture):
    labels = Recorder(picture).labels
    assert not off_page(labels, picture.size) and not overlaps(labels), picture.values
    assert picture.title and picture.sentence and len(picture.alt.split()) <= 40 and re.search(r"\d", picture.alt)


KEPT = flops.default()


@pytest.fixture
def picture():
    """The published picture; made once, and brought back, which is what the walk below proves to be the same."""
    return KEPT.set(model="LLaMA-3-8B", length=4096)


# ---------------------------------------------------------------- FLOPs: what is drawn

@pytest.mark.parametrize("name", NAMES)
def test_areas_and_curve_are_the_shares_of_the_files_flops(picture, name):
    picture.set(model=name)
    ffn, projections, score = (int(FILE[name][column]) for column in
                               ("ffn_flops_per_tok_layer", "attn_proj_flops_per_tok_layer", "score_flops_per_key_layer"))
    n = 2.0 ** np.linspace(6, 20, 57)
    height = lambda share: BOTTOM - (BOTTOM - TOP) * share
    for patch, share in [(picture.ffn, ffn / (ffn + projections + score * n)), (picture.projections, 1 - score * n / (ffn + projections + score * n))]:
        outline = patch.get_path().vertices
        assert np.abs(outline[1:58] - np.c_[place(n), height(share)]).max() < 1e-6
        assert outline[0, 1] == outline[58, 1] == BOTTOM
    for line in picture.causal:
        assert np.abs(line.get_ydata() - height(ffn / (ffn + projections + score * n / 2))).max() < 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_crossings_are_the_files(picture, name):
    picture.set(model=name)
    full, causal = (float(FILE[name][column]) for column in ("crossover_L_full", "crossover_L_causal_prefill"))
    middle = (TOP + BOTTOM) / 2
    for patch, length in [(picture.at_full, full), (picture.at_causal, causal)]:
        box = patch.get_path().get_extents()
        assert np.allclose(((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2), (place(length), middle), atol=0.02)
    corners = picture.lost.get_path().vertices.reshape(-1, 5, 2)
    assert np.allclose(corners[:, 0], [(place(full), STRIPS["full"]), (place(causal), STRIPS["causal"])], atol=0.02)
    assert np.allclose(corners[:, 2, 0], X1)
    assert f"{np.ceil(full):,.0f} tokens" in picture.title and (f"{np.ceil(causal):,.0f}" in picture.title or "window" in picture.title)


def test_every_model_has_its_tick_below_the_plot(picture):
    rug = [patch.get_path().vertices.reshape(-1, 5, 2) for patch in picture.page.patches
           if len(patch.get_path().vertices) == 5 * 17]
    ticks = sorted(np.mean(rug[0][:, :3, 0], axis=1) - 1 / 3)
    want = sorted(place(float(FILE[name]["crossover_L_full"])) for name in NAMES)
    assert np.abs(np.array(ticks) - want).max() < 1


@pytest.mark.parametrize("name", NAMES)
def test_the_table_counts(picture, name):
    picture.set(model=name, length=2048)
    row = FILE[name]
    assert picture.total.get_text() == f"{int(row['params_total']):,} parameters"
    assert picture.block.get_text() == f"{100 * model_costs.find(name).share('block'):.1f} %"
    widths = [patch.get_path().get_extents().width for patch in picture.parts]
    ffn_width = float(row["ffn_share_total_pct"]) / 100 * (flops.CAUSAL - flops.TABLE)
    assert abs(widths[0] - ffn_width) < 0.03 and abs(sum(widths) - (flops.CAUSAL - flops.TABLE)) < 1e-6
    assert picture.causal_scores.get_text() == flops._big(int(row["score_flops_per_key_layer"]) * 1024)
    assert picture.cache[0].get_text() == flops._big(4 * int(row["kv_heads"]) * int(row["head_dim"]) * int(row["layers"]))


@pytest.mark.parametrize("number, text", [(0, "0"), (999_999, "999,999"), (1e6, "1 M"), (352_321_536, "352.3 M"), (999_999_999, "1 G"),
                                          (8_030_261_248, "8.03 G"), (1.5363e12, "1.536 T"), (131e12, "131 T"), (2e15, "2 P"), (1e30, "over 10¹⁸")])
def test_big_numbers(number, text):
    assert flops._big(number) == text


# ---------------------------------------------------------------- FLOPs: words

def test_the_default_says_what_it_shows(picture):
    assert picture.title == "LLaMA-3-8B: attention overtakes the FFN at 16,384 tokens, 32,768 if causal"
    assert picture.sentence == "At length 4,096 the FFN does 70 % of a layer’s FLOPs, 75 % if causal; it holds 70 % of 8,030,261,248 parameters."
    texts = sorted(label.text for label in Recorder(picture).labels)
    for text in ("16,384", "32,768", "5.637 G", "1.342 G", "1.051 G", "266,240", "70 %", "17 %", "13 %", "<1 %", "80.8 %", "352.3 M",
                 "83.89 M", "67.11 M", "33.55 M", "75 %", "16.11 G", "15.03 G", "131,072", "86,016", "At length 4,096", "all 32 layers"):
        assert text in texts, text


@pytest.mark.parametrize("name, title, note", [
    ("Mistral-7B v0.1", "with its window never", "every layer reads only 4,096 tokens back. With it attention never overtakes."),
    ("Gemma-2-9B", "with its window from 22,784", "one layer in 2 reads only 4,096 tokens back. With it attention leads from 22,784, causal 45,934."),
    ("gpt-oss-120b", "with its window from 17,692", "one layer in 2 reads only 128 tokens back")])
def test_windows_are_said(picture, name, title, note):
    picture.set(model=name)
    assert title in picture.title and note in picture.notes[0].get_text()


def test_notes_say_what_kind_of_model_it_is(picture):
    notes = lambda **values: " ".join(note.get_text() for note in picture.set(**values).notes)
    assert "Second-hand: sizes from third-party copies" in notes(model="PaLM-540B")
    assert "one encoder layer; 6 of 12 layers are a decoder’s" in notes(model="Transformer base")
    assert "8 experts a layer are stored, 2 used: of the 12,879,925,248" in notes(model="Mixtral-8x7B v0.1")
    assert "own code" in notes(model="LLaMA-2-7B") and "Your sizes" in notes(**TINY) and "own code" not in notes(**TINY)


def test_a_model_that_attention_leads_from_the_start(picture):
    picture.set(**TINY)
    assert picture.title == "Your model: attention costs more than the FFN at every length"
    assert model_costs.Model("m", 64, 128 + 1, 1, 1, 1, 1).crossing() == 1 and flops._tokens(1) == "1 token"
    assert not len(picture.at_full.get_path().vertices) and not len(picture.mine.get_path().vertices)
    assert [texts[2].get_text() for texts in picture.strip_texts] == ["from 1", "from 1"]


@pytest.mark.parametrize("values", [dict(model=name) for name in NAMES] + [TINY, HUGE, {**HUGE, "d_ff": 64}, {**TINY, "d_ff": 131072}], ids=lambda v: v["model"])
def test_no_text_leaves_the_page_or_meets_another(picture, values):
    for length in (1, 9000, 160_000, 10 ** 9):
        good_page(picture.set(**values, length=length))


# ---------------------------------------------------------------- FLOPs: the menu and the sizes

def test_a_model_sets_the_sizes_and_a_size_leaves_the_model(picture):
    picture.set(model="GPT-2 small")
    assert {size: picture.values[size] for size in SIZES} == sizes_of("GPT-2 small") == dict(
        layers=12, d_model=768, d_ff=3072, heads=12, kv_heads=12, gated=False, vocab=50257)
    picture.set(layers=13)
    assert picture.values["model"] == OWN and picture.values["d_model"] == 768 and "Your model" in picture.title
    picture.set(layers=12)
    assert picture.values["model"] == "GPT-2 small" and "124,439,808" in picture.sentence
    picture.set(model=OWN)                                           # the same sizes in a plain decoder: no positions, no biases, untied
    plain = 12 * (12 * 768 ** 2 + 2 * 768) + 768 + 2 * 50257 * 768
    assert picture.values["model"] == OWN and f"{plain:,}" in picture.sentence
    picture.set(**{**picture.values, "model": "PaLM-540B"})          # as a preset does: a named model overrides the sizes
    assert {size: picture.values[size] for size in SIZES} == sizes_of("PaLM-540B")


def test_the_length_leaves_the_model_alone(picture):
    assert picture.set(length=77).values["model"] == "LLaMA-3-8B"


@pytest.mark.parametrize("bad, error, words", [
    (dict(heads=25), ValueError, "heads = 25 does not divide d_model = 4,096; 16 and 32 would"), (dict(kv_heads=12), ValueError, "kv_heads = 12 does not divide heads = 32"),
    (dict(d_model=0), ValueError, "d_model is 0"), (dict(d_ff=-64), ValueError, "d_ff is -64"), (dict(layers=2.5), ValueError, "layers is 2.5"),
    (dict(vocab="many"), TypeError, "vocab"), (dict(gated="yes"), TypeError, "gated"), (dict(length=0), ValueError, "length"),
    (dict(length=10 ** 9 + 1), ValueError, "length is 1,000,000,001, expected a whole number from 1 to 1,000,000,000"), (dict(length=float("nan")), ValueError, "length"),
    (dict(d_model=np.ones(3)), TypeError, "d_model"), (dict(model="GPT-9"), ValueError, "'GPT-9' is not known; known are .*LLaMA-3-8B"), (dict(model=None), TypeError, "model must be text")])
def test_refused_input_leaves_the_picture_as_it_was(picture, bad, error, words):
    picture.set(model="LLaMA-3-8B", length=900)
    before, values = picture.moving_svg(), dict(picture.values)
    with pytest.raises(error, match=words):
        picture.set(**bad)
    assert picture.values == values and picture.moving_svg() == before


def test_one_colour_for_one_quantity(picture):
    fills = lambda patch: patch.get_facecolor()
    assert fills(picture.parts[1]) == fills(picture.projections) != fills(picture.lost)
    assert picture.scores_name.get_text() == "scores"


def test_own_sizes_must_be_complete():
    with pytest.raises(ValueError, match="own sizes are layers"):
        flops.Flops(model=OWN, d_model=64)


def test_nothing_is_left_behind_by_a_walk_through_the_controls(picture):
    draw, taken = random.Random(8), 0
    picture.still_svg()
    for _ in range(100):
        values = draw.choice([dict(model=draw.choice(NAMES)), dict(length=int(10 ** draw.uniform(0, 9))), dict(gated=draw.random() < 0.5),
                              dict(d_model=64 * draw.randint(1, 300)), dict(d_ff=64 * draw.randint(1, 900)), dict(heads=2 ** draw.randint(0, 5)),
                              dict(kv_heads=2 ** draw.randint(0, 5)), dict(layers=draw.randint(1, 128)), dict(vocab=draw.randint(256, 250_000))])
        try:
            picture.set(**values)
            taken += 1
        except ValueError as error:
            assert "does not divide" in str(error)
    assert taken > 50
    fresh = flops.Flops(**picture.values)
    fresh.still_svg()
    assert bare(picture.moving_svg()) == bare(fresh.moving_svg()) and picture.png() == fresh.png()
    assert picture.set(**flops.default().values).png() == flops.default().png()


# ---------------------------------------------------------------- parameter shares

def test_dots_and_ticks_stand_at_the_files_shares():
    picture = parameter_shares.default()
    for share, _ in picture.rows:
        assert abs(share.model - float(FILE[share.name]["ffn_share_total_pct"])) < 0.006
    drawn = [patch.get_path() for patch in picture.page.patches]
    ticks = next(path.vertices.reshape(-1, 5, 2) for path in drawn if len(path.vertices) == 5 * 18 and np.allclose(np.diff(path.vertices[:2, 0]), 3.2))
    middles = ticks[:, :2, 0].mean(axis=1)
    want = [parameter_shares._x(float(FILE[share.name]["ffn_share_block_pct"])) for share, _ in picture.rows]
    assert np.abs(middles - want).max() < 0.05


@pytest.mark.parametrize("reading, count, low, high", [("model", 5, 33, 98), ("block", 4, 57, 99), ("active", 5, 33, 89)])
def test_who_is_in_the_band(reading, count, low, high):
    picture = parameter_shares.default().set(reading=reading)
    good_page(picture)
    assert picture.title.startswith(f"{count} of 18 models") and f"{low} % to {high} %" in picture.sentence
    assert sum(name.get_fontweight() == "bold" for name in picture.names) == count
    assert len(picture.halos.get_path().vertices) == count * len(parameter_shares.fh.circle(0, 0, 1).vertices)
    assert "8 models whose heads all have keys of their own, none" in picture.sentence
    assert [number.get_text() for number in picture.numbers] == [f"{getattr(share, reading):.0f}" for share, _ in picture.rows]


def test_second_hand_rows_are_marked():
    picture = parameter_shares.default()
    marked = {share.name for (share, _), name in zip(picture.rows, picture.names) if name.get_text().endswith("†")}
    assert marked == set(model_costs.SECOND_HAND)


def test_other_models_change_the_words():
    share = model_costs.Share("mine", "plain", 75, 80, 75)
    picture = parameter_shares.ParameterShares(shares=[share])
    assert picture.title.startswith("1 of 1") and "1 falls in the band" in picture.sentence
    good_page(picture)
    for bad in (dict(shares=[]), dict(shares=[share] * 19), dict(shares=[1]), dict(reading="half"),
                dict(shares=[model_costs.Share("mine", "plain", 20, 80, 75)]), dict(shares=[model_costs.Share("mine", "odd", 70, 80, 75)])):
        with pytest.raises(ValueError):
            picture.set(**bad)
    assert picture.values["shares"] == [share]


# ---------------------------------------------------------------- key-value cache

pieces = lambda patch: len(patch.get_path().vertices) // 5


@pytest.mark.parametrize("step", [1, 2, 8, 12])
def test_triangles_hold_as_many_cells_as_rows_were_counted(step):
    picture = kv_cache.default().set(step=step)
    passes = step * (step + 1) // 2
    assert pieces(picture.first) == 2 * step and pieces(picture.again) == passes - step == pieces(picture.read)
    assert pieces(picture.later) == 2 * (78 - passes)
    assert [total.get_text() for total, _ in picture.sums] == [f"{passes} pass{'es' * (passes > 1)}", f"{step} pass{'es' * (step > 1)}"]
    good_page(picture)


def test_the_published_counts_come_from_a_decoder_that_ran():
    picture = kv_cache.default()
    assert picture.values["without"].tolist() == [3 * t for t in range(1, 41)] and picture.values["with_cache"].tolist() == [3] * 40
    assert 0 < picture.values["gap"] < 1e-10
    long, short = picture.long.get_path().get_extents().width, picture.short.get_path().vertices.reshape(-1, 5, 2)
    assert [text.get_text() for text in picture.totals] == ["2,460 passes", "120: 20.5 times fewer"]
    assert (short[:, 1, 0] - short[:, 0, 0]) / long == pytest.approx(120 / 2460)


def test_counts_that_a_cache_does_not_lower_are_not_praised():
    values = kv_cache.default().values
    picture = kv_cache.KVCache(**{**values, "with_cache": values["without"], "gap": 0.5})
    assert "spares" not in picture.title and "2,460 with it" in picture.title and "5e-01 apart" in picture.foot.get_text()
    assert pieces(picture.read) == 0 and pieces(picture.again) == 2 * (36 - 8)


@pytest.mark.parametrize("case, percent", [(0, 66), (1, 60), (2, 35), (3, 62)])
def test_the_ffns_part_of_the_saving(case, percent):
    picture = kv_cache.default()
    picture.set(case=list(picture.values["cases"])[case])
    good_page(picture)
    widths = [patch.get_path().get_extents().width for patch in picture.parts]
    assert round(100 * widths[0] / sum(widths)) == percent and f"FFN is {percent} %" in picture.sentence


def test_a_walk_and_bad_values_leave_nothing_behind():
    picture, draw = kv_cache.default(), random.Random(3)
    picture.still_svg()
    for _ in range(100):
        picture.set(step=draw.randint(1, 12), case=draw.choice(list(picture.values["cases"])))
    fresh = kv_cache.KVCache(**picture.values)
    fresh.still_svg()
    before = picture.png()
    assert bare(picture.moving_svg()) == bare(fresh.moving_svg()) and before == fresh.png()
    for bad, error in [(dict(step=0), ValueError), (dict(step=13), ValueError), (dict(step="two"), TypeError), (dict(step=2.34567), ValueError), (dict(step=True), TypeError), (dict(step=np.True_), TypeError), (dict(layers=1.5), ValueError), (dict(case="x"), ValueError),
                       (dict(with_cache=[3] * 39), ValueError), (dict(without=[1] * 40), ValueError), (dict(cases={}), ValueError),
                       (dict(cases={"a": {"FFN": 1}}), ValueError), (dict(layers=0), ValueError), (dict(gap=float("nan")), ValueError)]:
        with pytest.raises(error):
            picture.set(**bad)
    assert picture.png() == before
