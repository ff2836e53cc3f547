"""The site in Chromium, from a local server: its pictures, its links to nowhere else, and the picture that moves."""
import functools
import http.server
import threading

import pytest

playwright = pytest.importorskip("playwright.sync_api")

from tests.browser.access import DRAWN, EVERY, TWO, serious
from tests.browser.lab import CHROMIUM
from tests.test_notebooks import NOTEBOOKS
from tests.test_site import SETTINGS
from tools.pages import hero
from tools.pages.build import ROOT, build

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")

# The widths that must do: the narrowest, which is also 1280 at 400 % zoom, and 1280 at 200 %.
NARROW, ZOOMED = 320, 640


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "pages"
    build(ROOT, folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def opened(browser, address):
    """Opens a page; whatever it asks for beside the local server, and each error, ends up in `faults`."""
    contexts, faults, requests = [], [], []

    def open_page(name, **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: (requests if request.url.startswith(address) else faults).append(request.url))
        # A page that is left or closed gives up what it was still fetching.
        page.on("requestfailed", lambda request: faults.append(request.url) if request.failure != "net::ERR_ABORTED" else None)
        page.on("response", lambda response: faults.append(response.url) if response.status >= 400 else None)
        page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(address + name)
        return page

    open_page.requests = requests
    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


def marks_shown(page):
    """Every mark that stands in the picture, under the names of hero.marks."""
    return page.evaluate("""names => Object.fromEntries(names.map(name => {
        const [id, attribute] = name.split("."), element = document.getElementById(`hero-${id}`);
        return [name, attribute === "text" ? element.textContent : element.getAttribute(attribute)] }))""",
                         list(hero.marks(**hero.START)))


def test_every_page_holds_at_every_width_with_its_answers_open(opened, address):
    """No page scrolls sideways; in a browser this costs less in one go than page by page."""
    page = opened("index.html", viewport={"width": NARROW, "height": 800})
    for name in ["index", *(path.stem for path in NOTEBOOKS)]:
        page.goto(f"{address}{name}.html")
        page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
        for width in (NARROW, ZOOMED):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, (name, width)


def test_no_rule_of_the_style_hides_an_output(opened):
    page = opened(f"{NOTEBOOKS[2].stem}.html")
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    shown = page.locator(".output, figure, figure img")
    assert shown.count() > 10
    for element in shown.all():
        box = element.bounding_box()
        assert element.is_visible() and box["width"] > 20 and box["height"] > 10, element.evaluate("element => element.outerHTML.slice(0, 200)")


def test_axe_finds_nothing_serious(opened, address):
    """On pages with their answers open, and on the first one in the dark and with its picture moved."""
    page = opened("index.html")
    for name in ["index", *((path.stem for path in NOTEBOOKS) if EVERY else TWO)]:
        page.goto(f"{address}{name}.html")
        page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
        assert serious(page, "body") == [], name
    page = opened("index.html", color_scheme="dark")
    page.get_by_role("slider", name="x", exact=True).press("End")
    assert serious(page, "body") == []


def test_nothing_moves_while_pictures_come(opened):
    page = opened(f"{NOTEBOOKS[2].stem}.html")
    shift = page.evaluate("""async () => {
        let shift = 0;
        const add = entries => { for (const entry of entries) shift += entry.value };
        const observer = new PerformanceObserver(list => add(list.getEntries()));
        observer.observe({ type: "layout-shift", buffered: true });
        for (const image of document.images) { image.scrollIntoView({ behavior: "instant" }); await image.decode() }
        await %s;
        add(observer.takeRecords());                  // found, but not yet handed over
        return shift }""" % DRAWN)
    assert shift == 0


def test_the_first_page_asks_for_three_files_and_its_icon_at_most(opened, address):
    page = opened("index.html")
    page.wait_for_load_state("networkidle")
    asked = {url.removeprefix(address) for url in opened.requests}
    assert {"index.html", "style.css", "hero.js"} <= asked <= {"index.html", "style.css", "hero.js", "icon.svg"}


def test_without_script_the_picture_stands_as_it_starts_and_answers_open(opened):
    page = opened("index.html", java_script_enabled=False)
    assert page.locator("#hero-status").inner_text() == hero.marks(**hero.START)["status.text"]
    assert page.locator("#hero-curve").get_attribute("points") == hero.marks(**hero.START)["curve.points"]
    assert page.get_by_text("Scripts are switched off here").is_visible()
    assert not page.locator("form").is_visible()
    page = opened(f"{NOTEBOOKS[0].stem}.html", java_script_enabled=False)
    answer = page.locator("details:not(.folded)").first
    assert not answer.locator("p").first.is_visible()
    answer.locator("summary").focus()
    page.keyboard.press("Enter")
    assert answer.locator("p").first.is_visible()


def test_the_script_says_what_the_helper_computes_and_the_keyboard_moves_it(opened):
    page = opened("index.html")
    assert marks_shown(page) == hero.marks(**hero.START)
    for values in SETTINGS:
        controls = {"x": values["x"], **{f"{name}-{i}": values[name][i] for name in ("W1", "b1") for i in range(3)}}
        page.evaluate("""([controls, activation]) => {
            const form = document.getElementById("hero-controls");
            for (const [name, value] of Object.entries(controls)) form.elements[name].value = value;
            form.elements.activation.value = activation;
            form.dispatchEvent(new Event("input")) }""", [controls, values["activation"]])
        assert marks_shown(page) == hero.marks(**values), values
        assert page.locator("#control-x + .value").inner_text() == hero.marks(**values)["x.text"]
    page.get_by_role("button", name="Reset").click()
    playwright.expect(page.locator("#hero-status")).to_have_text(hero.marks(**hero.START)["status.text"])
    assert marks_shown(page) == hero.marks(**hero.START)

    # The same by keyboard.
    page.get_by_role("slider", name="x", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    assert marks_shown(page) == hero.marks(**{**hero.START, "x": 0.9})
    page.keyboard.press("End")
    assert marks_shown(page) == hero.marks(**{**hero.START, "x": 4.0})
    page.get_by_role("group", name="Unit 2").get_by_role("slider", name="W1").focus()
    page.keyboard.press("Home")
    assert marks_shown(page) == hero.marks(**{**hero.START, "x": 4.0, "W1": [1.0, -2.0, 1.0]})
    page.get_by_role("radio", name="ReLU", exact=True).focus()
    page.keyboard.press("ArrowRight")
    last = {**hero.START, "x": 4.0, "W1": [1.0, -2.0, 1.0], "activation": "identity"}
    assert marks_shown(page) == hero.marks(**last)
    assert page.get_by_role("status").inner_text() == hero.marks(**last)["status.text"]


def test_at_the_ends_of_the_controls_no_word_leaves_the_picture_or_meets_a_bar(opened):
    page = opened("index.html")
    for end, width in [(0, 1280), (1, 1280), (1, NARROW), (0, NARROW)]:
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("""end => {
            const form = document.getElementById("hero-controls");
            for (const slider of form.querySelectorAll("input[type=range]")) slider.value = end ? slider.max : slider.min;
            if (!end) for (const i of [0, 1, 2]) { form.elements[`W1-${i}`].value = -1.5; form.elements[`b1-${i}`].value = -2.5 }
            form.dispatchEvent(new Event("input")) }""", end)
        labels = page.evaluate("""() => [...document.querySelectorAll("#hero text")].map(text => {
            const inside = text.ownerSVGElement.getBoundingClientRect(), box = text.getBoundingClientRect();
            return [text.textContent, box.left - inside.left, box.top - inside.top, inside.right - box.right, inside.bottom - box.bottom] })""")
        assert all(min(gaps) >= 0 for _, *gaps in labels), (end, width, labels)
        widths = page.evaluate("[0, 1, 2].map(i => document.getElementById(`hero-rule${i}`).getBBox().width)")
        assert max(widths) < 120      # the bar's line begins there
