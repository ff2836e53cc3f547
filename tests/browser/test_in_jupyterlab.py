"""Every notebook and every explorer in a real JupyterLab, driven by keyboard through Chromium.

Notebooks and explorers are found, not listed. An explorer's page is compared with its kernel: the
sentence shown must be the one that the kernel's picture says for the numbers in the boxes.
"""
import json
import time
from itertools import cycle

import pytest

playwright = pytest.importorskip("playwright.sync_api")

from tests.browser.access import EVERY, TWO, cramped, heard, in_a_notebook
from tests.browser.lab import CHROMIUM, Notebook
from tests.test_notebooks import NOTEBOOKS

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")

# What the kernel knows of its explorers, in the order in which they stand in the notebook; asked before each, and at each step.
EXPLORERS = """
import json
import ffn_helpers as fh
found = [value for value in Out.values() if isinstance(value, fh.Explorer)]
print(json.dumps([dict(
    alt=explorer.picture.alt, untouched=str(explorer.picture.values) == str(explorer.start),
    ranges={label: entry.spec[:2] for label, entry in explorer.entries.items() if isinstance(entry, fh._Entry)},
    picks=[label for label, entry in explorer.entries.items() if isinstance(entry, fh._Pick)],
    down=[entry.picker.label for entry in explorer.entries.values()
          if type(getattr(entry, "picker", None)).__name__ == "ToggleButtons"]) for explorer in found]))
"""
STATE = """
print(json.dumps(dict(sentence=found[%d].picture.sentence,
    picks={label: getattr(entry.picker, "label", entry.picker.value) for label, entry in found[%d].entries.items() if isinstance(entry, fh._Pick)})))
"""


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem, scope="module")
def notebook(request, desk, lab):
    """Opened once for its tests, which run in the order in which they stand here: looked at first, then run."""
    page = desk.new_page()
    opened = Notebook(page, lab, f"notebooks/{request.param.name}")
    yield opened
    opened.shut_down()
    page.close()


def test_reopened_without_a_kernel_every_picture_is_there(notebook):
    """Saved, not run, not trusted: what a reader sees who only opens the file."""
    stored = [output for output in notebook.outputs() if "<img" in json.dumps(output)]
    notebook.wait("count => [...document.querySelectorAll('.jp-OutputArea img')].filter(i => i.complete).length >= count", arg=len(stored))
    images = notebook.page.evaluate(
        "() => [...document.querySelectorAll('.jp-OutputArea img')].map(i => [i.alt, i.complete && i.naturalWidth])")
    assert len(images) == len(stored) > 0
    assert all(alt and width for alt, width in images)
    assert not notebook.page.evaluate("() => panel.content.widgets.some(c => c.model.trusted && c.model.type === 'code')")


def test_runs_and_every_explorer_moves(notebook):
    page = notebook.page
    assert notebook.run_all() == []
    assert [o for o in notebook.outputs("stream") if o["name"] == "stderr"] == []
    explorers = page.locator(".ffn-explorer")
    known = notebook.ask(EXPLORERS)
    notebook.wait("count => document.querySelectorAll('.ffn-explorer').length === count", arg=len(known))
    if EVERY or notebook.path.endswith(tuple(f"{name}.ipynb" for name in TWO)):
        assert in_a_notebook(page) == []
    for width in (640, 800) if EVERY else (640,):  # a screen of 1280 pixels at 200 %, and a small window
        assert cramped(page, width) == [], f"at {width} pixels"
    for number in range(len(known)):
        Driven(notebook, explorers.nth(number), number, known[number]).all()
    if notebook.path.endswith(NOTEBOOKS[0].name):
        in_the_dark(page, explorers.first)
    assert notebook.errors == []


def in_the_dark(page, explorer):
    """Labels and message against JupyterLab's dark theme; a picture has its own ground."""
    page.evaluate("() => jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})")
    try:
        page.wait_for_selector("body[data-jp-theme-light=false]", state="attached")
        explorer.get_by_role("textbox").first.fill("abc")
        explorer.get_by_role("textbox").first.press("Enter")
        explorer.get_by_role("alert").wait_for()
        assert in_a_notebook(page) == []
        ground = explorer.locator("svg > :not(defs)").first
        assert ground.evaluate("e => getComputedStyle(e).fill") == "rgb(255, 255, 255)"
    finally:                                       # the server keeps the theme for the notebooks to come
        page.evaluate("() => jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})")


class Driven:
    """One explorer on the page."""

    def __init__(self, notebook, explorer, number, known):
        self.notebook, self.page, self.explorer, self.number = notebook, notebook.page, explorer, number
        self.ranges, self.choices = known["ranges"], known["picks"]
        if EVERY or number == 0:
            self.named(known)
        explorer.scroll_into_view_if_needed()
        self.stage, self.message = explorer.locator(".ffn-stage"), explorer.locator(".ffn-message")
        notebook.wait("stage => stage.querySelectorAll('svg').length >= 2", arg=self.stage.element_handle())
        self.box = self.stage.bounding_box()
        assert notebook.ask(EXPLORERS)[number]["untouched"], "the page has changed a value by itself"
        self.live = explorer.locator(".ffn-live").element_handle()
        self.start, self.said = self.picture(), self.sentence()
        self.page.evaluate("""(stage) => { window.blank = 0; window.frames_seen = 0; const look = () => { frames_seen += 1;
            if (!stage.querySelector('.ffn-live svg > *:nth-child(2)')) blank += 1; window.looking = requestAnimationFrame(look) }; look() }""",
                      self.stage.element_handle())
        self.page.evaluate("""(status) => { window.spoken = 0; new MutationObserver(all => { spoken += all.length })
            .observe(status, {childList: true, subtree: true, characterData: true}) }""",
                           self.explorer.get_by_role("status").element_handle())

    def named(self, known):
        """A screen reader hears a name for each control, the picture's alt text and a sentence that will be spoken."""
        found = heard(self.explorer)
        names = {role: [name for other, name, _ in found if other == role]
                 for role in ("textbox", "slider", "group", "checkbox", "combobox", "button", "status", "img")}
        assert names["textbox"] == list(self.ranges) and names["slider"] == [f"{name} slider" for name in self.ranges]
        assert sorted(names["group"] + names["checkbox"] + names["combobox"]) == sorted(
            label if label.startswith("d_") else label.replace("_", " ") for label in known["picks"])
        assert names["button"][0] == "Reset" and all(names["button"])
        assert names["img"] == [known["alt"]] and len(names["status"]) == 1
        assert [name for _, name, pressed in found if pressed] == known["down"]

    def picture(self):
        return self.live.inner_html()

    def sentence(self):
        return self.explorer.locator("[data-sentence]").inner_text()

    def settled(self, reached=lambda kernel: True):
        """Wait until the kernel has `reached` a state and the page says what its picture says; return the picture."""
        deadline = time.monotonic() + 20
        while True:
            kernel, shown = self.notebook.ask(STATE % (self.number, self.number)), self.sentence()
            if reached(kernel) and shown == kernel["sentence"]:
                return self.picture()
            assert time.monotonic() < deadline, f"the page says {shown!r}, the kernel {kernel!r}"

    def all(self):
        self.sliders()
        self.picks()
        self.boxes()
        self.buttons()
        after = self.stage.bounding_box()
        assert (after["width"], after["height"]) == (self.box["width"], self.box["height"]), "the layout shifted"
        self.notebook.wait("frames_seen > 20")
        self.page.evaluate("() => cancelAnimationFrame(looking)")      # else it would draw to the end of the session
        assert self.page.evaluate("() => blank") == 0

    def sliders(self):
        handles, boxes = self.explorer.get_by_role("slider"), self.explorer.locator("input[type=text]")
        assert handles.count() == boxes.count() == len(self.ranges)
        for i, (name, (low, high)) in enumerate(self.ranges.items()):
            start, first = boxes.nth(i).input_value(), self.picture()
            seen = set()
            for key, end in [("End", high), ("Home", low)]:
                handles.nth(i).press(key)
                self.notebook.wait("([box, end]) => Number(box.value.replace('−', '-')) === end",
                                   arg=[boxes.nth(i).element_handle(), end])
                assert float(handles.nth(i).get_attribute("aria-valuetext")) == pytest.approx(end)      # also where it counts in doublings
                seen.add(self.settled())
            assert len(seen | {first}) > 1, f"{name} moves nothing"
            boxes.nth(i).fill(start)
            boxes.nth(i).press("Enter")
        self.back("moving every control there and back")

    def picks(self):
        controls = self.explorer.locator(".widget-toggle-buttons, .widget-checkbox, .widget-dropdown").all()
        for name, control in zip(self.choices, controls, strict=True):
            for target in control.locator("button").all():
                target.press("Space")
                self.settled(lambda kernel: kernel["picks"][name] == target.inner_text())
                assert control.evaluate("e => [...e.querySelectorAll('[aria-pressed=true]')].map(b => b.innerText)") == [target.inner_text()]
            for box in control.locator("input").all():
                for wanted in (not box.is_checked(), box.is_checked()):
                    box.press("Space")
                    self.settled(lambda kernel: kernel["picks"][name] == wanted)
            for menu in control.locator("select").all():
                for key in ("End", "Home"):
                    menu.press(key)                # the kernel may refuse it, and then sets the menu back
                    self.settled(lambda kernel: kernel["picks"][name] == menu.evaluate(
                        "menu => menu.selectedOptions[0]?.textContent").replace("\N{NO-BREAK SPACE}", " "))
        self.reset()

    def boxes(self):
        """Each bad text in one box; test_explorers has all of them in all boxes."""
        boxes = self.explorer.locator("input[type=text]")
        for (i, name), bad in zip(cycle(enumerate(self.ranges)), ["abc", "nan", "1e308", ""]):
            start = boxes.nth(i).input_value()
            boxes.nth(i).fill(bad)
            boxes.nth(i).press("Enter")
            self.message.get_by_role("alert").get_by_text(name + ":").wait_for()
            assert self.picture() == self.start, f"{name} took {bad!r}"
            self.reset()
            self.notebook.wait("([box, start]) => box.value === start", arg=[boxes.nth(i).element_handle(), start])      # it comes last

    def buttons(self):
        for button in self.explorer.locator("> .widget-hbox").first.get_by_role("button").all()[1:]:
            was = self.sentence()
            self.page.evaluate("spoken = 0")
            button.press("Enter")
            self.notebook.wait("([live, start]) => live.innerHTML !== start", arg=[self.live, self.start])
            first = self.settled()
            button.press("Enter")                  # what the page sends of itself comes before the second press
            assert self.settled() == first, f"{button.inner_text()} pressed twice gives two pictures"
            assert self.page.evaluate("spoken") == (self.sentence() != was), "each new sentence is spoken once, in the place that was there"
            self.reset()

    def reset(self):
        self.explorer.get_by_role("button", name="Reset").press("Enter")
        self.back("Reset")

    def back(self, doing):
        """Wait until picture, message and sentence are as at the start: each comes with a message of its own."""
        try:
            self.notebook.wait(
                "([live, message, words, start, said]) => live.innerHTML === start && message.innerText.trim() === '' && words.innerText === said",
                arg=[self.live, self.message.element_handle(), self.explorer.get_by_role("status").element_handle(), self.start, self.said])
        except playwright.TimeoutError:
            pytest.fail(f"{doing} does not bring the start back: {self.sentence()!r}, message {self.message.inner_text()!r}")
