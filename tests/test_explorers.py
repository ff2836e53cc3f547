"""Every explorer of every notebook: each control moved, and the picture compared with one drawn afresh.

A notebook's cells run here without a kernel, up to the last explorer, and every `fh.Explorer` that is
made on the way is collected. The rule behind most tests: whatever was done to an explorer, what it shows
is what a new picture of the same class shows for the same values.
"""
import html
import random
import re

import ipywidgets as widgets
import numpy as np
import pytest

import ffn_helpers as fh
from conftest import TOLERANCE, WALK, difference
from tests.drawing import Recorder, bare, off_page, told_by_hue
from tests.execution import calls, fresh_kernel, may_raise, numbered, run
from tests.test_notebooks import NOTEBOOKS, alt_faults, images_in, read
from tests.test_svg_layer import defined, tree, used

BAD_TEXTS = ["abc", "nan", "inf", "-inf", "1e308", "", "−−1", "1,5", "<b>7</b>"]


# ---------------------------------------------------------------- collecting

def cells_with_explorers(path):
    """The code cells up to the last that calls `explore`, with how many explorers each makes."""
    cells = numbered(read(path.read_text(encoding="utf-8"), path.name))
    counts = [calls(cell["source"], "explore") for _, cell in cells]
    last = max((i + 1 for i, count in enumerate(counts) if count), default=0)
    return cells[:last], counts[:last]


def collect(path):
    """Run a notebook's cells and return its explorers in their order."""
    made, init = [], fh.Explorer.__init__

    def recording(self, *args, **more):
        init(self, *args, **more)
        made.append(self)

    with pytest.MonkeyPatch.context() as patch, fresh_kernel() as namespace:
        patch.setattr(fh.Explorer, "__init__", recording)
        for where, cell in cells_with_explorers(path)[0]:
            run(cell["source"], where, namespace, may_raise(cell))
    return made


KEPT = {}


def explorers(path):
    if path not in KEPT:
        try:
            KEPT[path] = collect(path)
        except Exception as error:
            KEPT[path] = error
    if isinstance(KEPT[path], Exception):
        raise KEPT[path]
    return KEPT[path]


COUNTS = {path: sum(cells_with_explorers(path)[1]) for path in NOTEBOOKS}
every_explorer = pytest.mark.parametrize("explorer", [
    pytest.param((path, number), id=f"{path.stem}-{number + 1}") for path in COUNTS for number in range(COUNTS[path])],
    indirect=True)


@pytest.fixture
def explorer(request):
    path, number = request.param
    return begin(explorers(path)[number])


def begin(explorer):
    """Back to the start by a way that does not lean on what is tested here."""
    explorer.strict = True
    explorer.picture.set(**explorer.start)
    for label, entry in explorer.entries.items():
        entry.set(value_of(explorer, entry))
    explorer._say("")
    explorer._draw()
    return explorer


# ---------------------------------------------------------------- asking an explorer

def is_number(entry):
    return isinstance(entry, fh._Entry)


def value_of(explorer, entry, values=None):
    """The number or option that a control stands for."""
    values = explorer.picture.values if values is None else values
    return np.asarray(values[entry.name])[entry.index].item() if is_number(entry) else values[entry.label]


def options(entry):
    if isinstance(entry.picker, widgets.Checkbox):
        return [True, False]
    return [value for _, value in entry.picker.options]


def others(explorer, entry):
    """All values but the one that a control stands for, and those that its picture declares linked to it."""
    values = dict(explorer.picture.values)
    if (entry.name if is_number(entry) else entry.label) in explorer.picture.linked:
        return {name: value for name, value in values.items() if name not in explorer.picture.linked}
    if is_number(entry) and entry.index:
        values[entry.name] = np.delete(np.asarray(values[entry.name], float).ravel(),
                                       np.ravel_multi_index(entry.index, np.shape(values[entry.name])))
    else:
        del values[entry.name if is_number(entry) else entry.label]
    return values


def same(a, b):
    """Equal values, whatever they are made of."""
    if a is b:
        return True
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return np.array_equal(a, b)


def shows_its_values(explorer):
    """Picture, sentence, controls and message against a picture drawn afresh from the same values."""
    picture = explorer.picture
    fresh = type(picture)(**picture.values)
    assert explorer.message.value == ""
    assert bare(explorer.live.value) == bare(fresh.moving_svg())
    assert (picture.title, picture.sentence, picture.alt) == (fresh.title, fresh.sentence, fresh.alt)
    well_formed(explorer)
    controls_agree(explorer)
    return fresh


def well_formed(explorer):
    live, picture = explorer.live.value, explorer.picture
    assert tree(live) is not None and "nan" not in live
    assert used(live) <= defined(live) | defined(explorer.still.value), "the page lacks an outline that is drawn"
    assert f">{html.escape(picture.sentence)}<" in explorer.words.value
    assert f'role="img" aria-label="{html.escape(picture.alt)}"' in live and 'aria-hidden="true"' in explorer.still.value
    assert picture.title and picture.sentence and not alt_faults(picture.alt, picture.title, picture.sentence)


def controls_agree(explorer):
    for label, entry in explorer.entries.items():
        value = value_of(explorer, entry)
        if is_number(entry):
            assert entry.parse(entry.box.value) == pytest.approx(value, abs=1e-4), label
            assert entry.slider.value == pytest.approx(entry.nearest(value)), label
        else:
            assert same(entry.picker.value, value), label


def move(entry, to):
    """As a reader does: type a number into the box, or pick an option."""
    if is_number(entry):
        entry.box.value = entry.written(to)
    else:
        entry.picker.value = to


def ends(explorer, entry):
    return [entry.spec.low, entry.spec.high] if is_number(entry) else options(entry)


def refusal(explorer, entry, value):
    """What a new picture that stands at the start says to one other value; "" if it takes it."""
    picture = type(explorer.picture)(**explorer.start)
    try:
        picture.set(**{entry.name if is_number(entry) else entry.label: value})
    except ValueError as error:
        return str(error)
    return ""


def elsewhere(explorer, entry):
    """An end of a control that is not where it stands now."""
    return next(end for end in ends(explorer, entry) if not same(end, value_of(explorer, entry)))


def buttons(explorer):
    return {button.description: button for button in explorer.children[0].children}


def all_widgets(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from all_widgets(child)


# ---------------------------------------------------------------- the tests

@pytest.mark.parametrize("path", [path for path in COUNTS if COUNTS[path]], ids=lambda path: path.stem)
def test_explorers_are_collected(path):
    assert len(explorers(path)) == COUNTS[path]


@every_explorer
def test_start(explorer):
    shows_its_values(explorer)
    assert explorer.entries and same(explorer.picture.values, explorer.start)
    for label, entry in explorer.entries.items():
        assert entry.label == label
        if is_number(entry):
            assert entry.spec.low <= value_of(explorer, entry) <= entry.spec.high, label
        else:
            assert any(same(value_of(explorer, entry), option) for option in options(entry)), label
    on_page = list(all_widgets(explorer))
    for part in [entry.widget for entry in explorer.entries.values()] + [
            explorer.message, explorer.still, explorer.live, explorer.words]:
        assert sum(part is other for other in on_page) == 1
    assert "nan" not in explorer.still.value and tree(explorer.still.value) is not None


@every_explorer
def test_saved_file_holds_the_picture_with_its_alt_text(explorer):
    bundle = explorer._repr_mimebundle_()
    image, = images_in(bundle["text/html"])
    assert image["alt"] == explorer.picture.alt and image["src"].startswith("data:image/png;base64,iVBOR")
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == explorer.model_id
    assert bundle["text/plain"] == explorer.picture.sentence


@every_explorer
def test_every_control_moves_its_value_and_nothing_else(explorer):
    start, seen = bare(explorer.live.value), {}
    for number, (label, entry) in enumerate(explorer.entries.items()):
        rest = others(explorer, entry)
        for which, end in enumerate(ends(explorer, entry)):
            move(entry, end)
            if not is_number(entry) and explorer.message.value:       # an option that does not go with the rest
                assert html.escape(refusal(explorer, entry, end) or "never") in explorer.message.value, f"{label} at {end}"
                assert bare(explorer.live.value) == bare(type(explorer.picture)(**explorer.picture.values).moving_svg())
                begin(explorer)
                continue
            assert explorer.message.value == "", f"{label} at {end}: {explorer.message.value}"
            assert same(value_of(explorer, entry), end), label
            assert same(others(explorer, entry), rest), f"{label} moves another value"
            # A new picture takes time: one end of each number, all of a few options, every fourth of many.
            if which == number % 2 if is_number(entry) else len(options(entry)) <= 6 or which % 4 == 0:
                shows_its_values(explorer)
                assert not off_page(Recorder(explorer.picture, moving=True).labels, explorer.picture.size), f"{label} at {end}"
            else:
                well_formed(explorer)
                controls_agree(explorer)
            seen[label, repr(end)] = bare(explorer.live.value)
        assert len({picture for (name, _), picture in seen.items() if name == label}) > 1, f"{label} changes nothing"
        begin(explorer)
        if is_number(entry):
            for end in ends(explorer, entry):
                entry.slider.value = end
                assert bare(explorer.live.value) == seen[label, repr(end)], f"the slider of {label} at {end}"
                controls_agree(explorer)
            begin(explorer)
        assert bare(explorer.live.value) == start


@every_explorer
def test_box_takes_its_own_text_and_a_true_minus(explorer):
    for label, entry in explorer.entries.items():
        if is_number(entry):
            for end in ends(explorer, entry):
                assert entry.parse(fh.num(end, 4).replace(",", "").replace("−", "–")) == end          # an en dash
                assert entry.parse(fh.num(end, 4).replace(",", "")) == entry.parse(entry.written(end)) == end
                assert entry.parse(str(end)) == end


@every_explorer
def test_words_give_a_number_with_the_digits_of_its_box(explorer):
    for label, entry in explorer.entries.items():
        if is_number(entry) and entry.spec.step % 1:
            low, high = entry.spec[:2]
            entry.box.value = str(round(low + 0.6137 * (high - low), 3))
            words = f"{explorer.picture.title} {explorer.picture.sentence}"
            said = re.findall(r"−?\d+(?:\.\d+)?", words)
            typed = entry.parse(entry.box.value)
            assert explorer.message.value == "" and same(value_of(explorer, entry), typed), f"{label} = {typed} is not taken"
            assert fh.num(typed) not in said or fh.num(typed, 4) in said, f"{label} = {typed}: {words}"
            begin(explorer)


# What an exercise's or a "try" answer says that its reader finds in the explorer: notebook, explorer, what is set, the words.
ANSWERS = [
    ("02", 0, {"x": [2, -2]}, "3 of 3 units are cut", "x = [2, −2] does it"),
    ("03", 0, {"shift": -0.6}, "1,542 of 2,048 units are cut (75 %)", "−0.6: 1,542 of 2,048"),
    ("03", 0, {"shift": -1}, "1,738 of 2,048 units are cut (85 %)", "down to −1: over five units in six fall silent"),
]


@pytest.mark.parametrize("number, which, values, words, answer", ANSWERS)
def test_answers_are_what_the_explorer_shows(number, which, values, words, answer):
    path = next(path for path in NOTEBOOKS if path.stem.startswith(number))
    explorer = begin(explorers(path)[which])
    explorer.picture.set(**values)
    assert words in explorer.picture.sentence
    assert answer in path.read_text(encoding="utf-8")


@every_explorer
def test_reset_brings_back_the_exact_start(explorer):
    start, png = bare(explorer.live.value), explorer.picture.png(1)
    for far in (elsewhere, lambda explorer, entry: ends(explorer, entry)[0]):
        for entry in explorer.entries.values():
            move(entry, far(explorer, entry))
        if explorer.message.value == "":       # all ends at once may be more than a picture takes
            fresh = shows_its_values(explorer)
            # Agg simplifies long paths by less than a pixel, and only in pictures that were changed.
            assert far is elsewhere or difference(fresh.png(1), explorer.picture.png(1)) < TOLERANCE
        assert far is not elsewhere or bare(explorer.live.value) != start
        buttons(explorer)["Reset"].click()
        assert same(explorer.picture.values, explorer.start)
        assert bare(explorer.live.value) == start
        well_formed(explorer)
        controls_agree(explorer)
        assert explorer.message.value == ""
    assert explorer.picture.png(1) == png


@every_explorer
def test_presets(explorer):
    pictures, first = {"Reset": bare(explorer.live.value)}, next(iter(explorer.entries.values()))
    for label, button in buttons(explorer).items():
        button.click()
        shows_its_values(explorer)
        moving, name = Recorder(explorer.picture, moving=True), type(explorer.picture).__module__.rpartition(".")[2]
        assert not off_page(moving.labels, explorer.picture.size) and not told_by_hue(name, moving)[0], label
        pictures[label] = bare(explorer.live.value)
        move(first, elsewhere(explorer, first))          # a preset starts from the start, not from here
        button.click()
        assert bare(explorer.live.value) == pictures[label], label
    assert len(set(pictures.values())) == len(pictures), "two buttons do the same"


@every_explorer
def test_bad_text_becomes_a_message_and_the_picture_stays(explorer):
    for label, entry in explorer.entries.items():
        if not is_number(entry):
            continue
        live, values = explorer.live.value, explorer.picture.values
        beyond = [entry.written(entry.spec.low - entry.spec.step), entry.written(entry.spec.high + entry.spec.step)]
        for text in BAD_TEXTS + beyond:
            entry.box.value = text
            message = html.unescape(explorer.message.value)
            assert f"{label}: “{text}” is not" in message and "The last good picture stays." in message
            assert ("write a point" in message) == ("," in text)
            assert 'role="alert"' in message and "<b>7" not in explorer.message.value
            assert explorer.live.value == live and explorer.picture.values is values
        buttons(explorer)["Reset"].click()               # any good change clears the message and mends the box
        assert explorer.message.value == ""
        controls_agree(explorer)


@every_explorer
def test_mistake_of_ours_becomes_a_message_and_the_picture_recovers(explorer, monkeypatch):
    live, picture = explorer.live.value, explorer.picture
    entry = next(iter(explorer.entries.values()))
    end = elsewhere(explorer, entry)

    def fail_once(stage):
        works = getattr(picture, stage)

        def fails():
            monkeypatch.setattr(picture, stage, works)
            raise ZeroDivisionError("by <0>")

        monkeypatch.setattr(picture, stage, fails)

    for stage in ("update", "moving_svg"):         # the picture's own part, and what is made of it
        fail_once(stage)
        explorer.strict = False
        move(entry, end)
        assert "Our mistake, not yours: ZeroDivisionError: by &lt;0&gt;" in explorer.message.value, stage
        assert bare(explorer.live.value) == bare(live) and same(picture.values, explorer.start), stage
        begin(explorer)

    fail_once("update")
    with pytest.raises(ZeroDivisionError):
        move(entry, end)
    assert bare(explorer.live.value) == bare(live) and same(picture.values, explorer.start)
    begin(explorer)
    move(entry, end)
    shows_its_values(explorer)


# ---------------------------------------------------------------- a long walk

ODD_TEXTS = BAD_TEXTS + ["1e-9", "-1e-300", "5e-324", "0.00004", "-0", "+2", " 1 ", "1_0", "0x1", "٣", "３", "1e3", "∞", "None", "1/2", "9" * 400]


def event(explorer, chance):
    """Something that a reader may do, as (words, what does it, the control that it touches; none for a button)."""
    label, entry = chance.choice(list(explorer.entries.items()))
    button = chance.choice(list(buttons(explorer).values()))
    doings = [(f"press {button.description}", button.click, None)] * 2
    if is_number(entry):
        low, high = entry.spec[:2]
        step = entry.nearest(chance.uniform(low, high))
        texts = [entry.written(value) for value in (chance.uniform(low, high), low, high, value_of(explorer, entry), low - entry.spec.step, high + entry.spec.step)]
        typed = lambda text: (f"type {text!r} into {label}", lambda: setattr(entry.box, "value", text), entry)
        dragged = lambda to: (f"drag {label} to {to}", lambda: setattr(entry.slider, "value", to), entry)
        doings += [typed(chance.choice(texts)) for _ in range(4)] + [typed(chance.choice(ODD_TEXTS)) for _ in range(2)]
        doings += [dragged(to) for to in (step, step, low, high, entry.slider.value)]
    else:
        to = chance.choice(options(entry))
        doings += [(f"pick {to!r} at {label}", lambda: setattr(entry.picker, "value", to), entry)] * 6
    return chance.choice(doings)


def boxes(explorer):
    return [entry.box.value for entry in explorer.entries.values() if is_number(entry)]


def names(message, control, linked):
    """Is a message about this control, by its label or by the value that it belongs to, or about a value that this one is linked with?"""
    about = {control.label, getattr(control, "name", control.label)} if control else set()
    about |= set(linked) if about & set(linked) else set()
    return any(re.search(rf"\b{re.escape(name)}\b", message) for name in about)


@every_explorer
def test_a_walk_through_all_controls(explorer, request):
    """After every event the page shows its values, or says why not and the last good picture stays."""
    seed = request.node.callspec.id
    chance, done, again, refused = random.Random(seed), [], None, 0
    for number in range(1, WALK + 1):
        again = again if again and chance.random() < 0.1 else event(explorer, chance)
        words, do, control = again
        done, typed = [*done[-4:], words], boxes(explorer)
        live, values = bare(explorer.live.value), explorer.picture.values
        said, came = explorer.message.value, f"event {number} of seed {seed!r}, after {done}"
        try:
            do()
            if explorer.message.value:
                refused += 1
                message = html.unescape(explorer.message.value)       # what changes nothing leaves the last one
                assert names(message, control, explorer.picture.linked) or (explorer.message.value, boxes(explorer)) == (said, typed), message
                assert "The last good picture stays." in message
                assert same(explorer.picture.values, values) and bare(explorer.live.value) == live
                for label, entry in explorer.entries.items():         # a box keeps what was typed, nothing else may differ
                    if is_number(entry):
                        assert entry.slider.value == pytest.approx(entry.nearest(value_of(explorer, entry))), label
                    else:
                        assert same(entry.picker.value, value_of(explorer, entry)), label
            else:
                well_formed(explorer)
                controls_agree(explorer)
            if number % 10 == 0:
                fresh = type(explorer.picture)(**explorer.picture.values)
                assert bare(explorer.live.value) == bare(fresh.moving_svg())
                assert (explorer.picture.title, explorer.picture.sentence, explorer.picture.alt) == (fresh.title, fresh.sentence, fresh.alt)
        except Exception as error:
            raise AssertionError(f"{came}: {type(error).__name__}: {error}") from error
    if WALK > 10:
        print(f"{WALK} events, {refused} of them left a message")


def test_pictures_of_explorers_are_told_apart():
    """`bare` hides the picture's number and nothing that is drawn."""
    a = '<defs><path id="p1-31nn" d="M0 0"/></defs><use href="#p1-31nn" x="0.0"/>'
    assert bare(a) == bare(a.replace("p1-", "p27-")) != bare(a.replace("31nn", "32nn"))
