"""The course as web pages: nothing of a notebook is lost, nothing comes from elsewhere, every link leads somewhere.

Also each notebook through nbconvert's stock exporter, which is what other viewers show. What needs a real
browser is in tests/browser/test_site_in_chromium.py.
"""
import base64
import collections
import functools
import html
import io
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote

import nbformat
import numpy as np
import pytest
import torch
from PIL import Image

pytest.importorskip("latex2mathml", reason="the site is built with the versions that tests/requirements.txt pins")
from nbconvert import HTMLExporter

import course
import ffn_helpers as fh
from tests.test_notebooks import NOTEBOOKS, ROOT, every_notebook, images_in, read
from tools import notebooks as tool
from tools.pages import hero
from tools.pages.build import MARKER, Course, Refused, build

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Element:
    def __init__(self, tag, attributes, inside):
        self.tag, self.attributes, self.inside, self.parts = tag, dict(attributes), inside, []

    def __getitem__(self, name):
        return self.attributes.get(name)

    @property
    def text(self):
        return "".join(self.parts)

    @property
    def classes(self):
        return (self["class"] or "").split()


class Page(HTMLParser):
    """A page's elements in order, each with its text and the elements that it stands in. Refuses unbalanced tags."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.stack = [], []
        self.feed(text)
        assert not self.stack, f"<{self.stack[-1].tag}> is not closed"

    def handle_starttag(self, tag, attributes):
        self.elements.append(Element(tag, attributes, tuple(self.stack)))
        if tag not in VOID:
            self.stack.append(self.elements[-1])

    def handle_startendtag(self, tag, attributes):
        self.elements.append(Element(tag, attributes, tuple(self.stack)))

    def handle_endtag(self, tag):
        if tag == "p" and self.stack[-1].tag != "p":
            raise AssertionError("</p> without its <p>")
        assert self.stack.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        for element in self.stack:
            element.parts.append(data)

    def all(self, *tags, kind=None):
        return [element for element in self.elements if element.tag in tags and (kind is None or kind in element.classes)]

    def one(self, tag, kind=None):
        found, = self.all(tag, kind=kind)
        return found


def squeezed(text):
    return re.sub(r"\s+", "", text)


@functools.cache
def parsed(path):
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "pages"
    build(ROOT, out)
    return out


def page_of(site, path):
    return parsed(site / f"{path.stem}.html")


def pages(site):
    return {path.name: parsed(path) for path in sorted(site.glob("*.html"))}


# ---------------------------------------------------------------- nothing is lost

@every_notebook
def test_every_picture_is_on_its_page_with_its_alt_text(path, site):
    notebook = read(path.read_text(encoding="utf-8"))
    stored = [image for cell in notebook["cells"] for output in cell.get("outputs", [])
              for image in images_in(output["data"].get("text/html", ""))]
    shown = page_of(site, path).all("img")
    assert [image["alt"] for image in shown] == [image["alt"] for image in stored] and stored
    for image, source in zip(shown, stored):
        png = (site / image["src"]).read_bytes()
        assert png == base64.b64decode(source["src"].partition("base64,")[2])
        width, height = Image.open(io.BytesIO(png)).size
        assert image["width"] == source["width"] and abs(int(image["height"]) - int(image["width"]) * height / width) <= 0.5
        assert image["loading"] == "lazy"


@every_notebook
def test_every_folded_answer_is_there_and_folded(path, site):
    notebook = read(path.read_text(encoding="utf-8"))
    stored = [answer for cell in notebook["cells"] if cell["cell_type"] == "markdown"
              for answer in re.findall(r"<details><summary>(.*?)</summary>(.*?)</details>", cell["source"], re.S)]
    page = page_of(site, path)
    shown = [element for element in page.all("details") if "folded" not in element.classes]
    assert len(shown) == len(stored) > 0
    letters = lambda text: re.sub(r"[\W_]+", "", text)
    for element, (question, answer) in zip(shown, stored):
        assert element["open"] is None and element.tag == "details"
        summary = next(inner for inner in page.all("summary") if inner.inside[-1] is element)
        assert summary.text == html.unescape(question)
        answer = re.sub(r"\]\([^)]*\)", "", re.sub(r"^```\w+$|^\d+\. ", "", answer, flags=re.M))
        assert letters(element.text) == letters(html.unescape(question + answer))


@every_notebook
def test_every_code_cell_and_its_output_is_there(path, site):
    notebook = read(path.read_text(encoding="utf-8"))
    page = page_of(site, path)
    answers = lambda element: any(outer.tag == "details" and "folded" not in outer.classes for outer in element.inside)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [block.text for block in page.all("pre", kind="code") if not answers(block)] == [cell["source"].rstrip("\n") for cell in cells]
    expected = ["".join(output["text"] + output["data"].get("text/plain", "") for output in cell["outputs"])
                for cell in cells if cell["outputs"]]
    links = lambda output: "".join(element.text for element in page.all("span", kind="links") if output in element.inside)
    shown = page.all("div", kind="output")
    assert [squeezed(output.text.replace(links(output) or "\0", "")) for output in shown] == [squeezed(text) for text in expected]
    hidden, = (block for block in page.all("pre", kind="code") if any("folded" in outer.classes for outer in block.inside))
    assert hidden.text.startswith("#@title")


@every_notebook
def test_every_word_of_the_text_is_there(path, site):
    notebook = read(path.read_text(encoding="utf-8"))
    main = squeezed(page_of(site, path).one("main").text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            text = re.sub(r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|</?\w+[^>]*>", "|", cell["source"], flags=re.S)
            text = re.sub(r"\]\([^)]*\)", "", text)
            for words in re.findall(r"[^\W_]{3,}(?:[ ,’'-]+[^\W_]+)+", html.unescape(text)):
                assert squeezed(words) in main, words


def test_the_formula_is_set_without_help_from_elsewhere(site):
    formula, = page_of(site, next(path for path in NOTEBOOKS if path.stem.startswith("02"))).all("math")
    assert formula.text == "y=max(0,xW1+b1)W2+b2" and formula["display"] == "block"
    assert not any("$$" in page.one("main").text for page in pages(site).values())


def test_pictures_that_explorers_start_from_say_where_they_move(site):
    for path in NOTEBOOKS:
        explorers = sum("fh.explore(" in cell["source"] for cell in read(path.read_text(encoding="utf-8"))["cells"])
        movers = [link for link in page_of(site, path).all("a") if link.text.startswith("Move it in Colab")]
        assert len(movers) == explorers > 0
        assert all(link["href"].startswith("https://colab.research.google.com/") and path.name in link["href"] for link in movers)


# ---------------------------------------------------------------- nothing comes from elsewhere

def fetched(page):
    """Whatever a page makes a browser load."""
    for element in page.elements:
        for name in ("src", "srcset", "data", "poster", "xlink:href"):
            if element[name] is not None:
                yield element[name]
        if element.tag in ("link", "use", "image", "base") and element["href"] is not None:
            yield element["href"]


def test_no_page_loads_anything_from_elsewhere(site):
    for name, page in pages(site).items():
        assert all((site / url).is_file() for url in fetched(page)), name
        assert page.all("meta")[1]["content"].startswith("default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self';")
        assert not any(element["style"] or any(attribute.startswith("on") for attribute in element.attributes)
                       for element in page.elements), name      # the policy would drop them
        assert not page.all("iframe", "object", "embed", "style")
        assert [script["src"] for script in page.all("script")] == (["hero.js"] if name == "index.html" else [])
    assert not re.search(r"@import|url\((?!#)|//[a-z]", (site / "style.css").read_text(encoding="utf-8"))
    assert not re.search(r"https?:|fetch|import\(|XMLHttpRequest|WebSocket|eval", (site / "hero.js").read_text(encoding="utf-8"))
    assert re.findall(r"https?://[^\"]+", (site / "icon.svg").read_text(encoding="utf-8")) == ["http://www.w3.org/2000/svg"]


def test_the_first_page_is_light(site):
    """Message, moving picture and map in four files."""
    first = {"index.html", *fetched(parsed(site / "index.html"))}
    assert first == {"index.html", "style.css", "hero.js", "icon.svg"}
    assert sum((site / name).stat().st_size for name in first) < 60_000
    assert all((site / f"{path.stem}.html").stat().st_size < 150_000 for path in NOTEBOOKS)      # pictures come as they are reached


# ---------------------------------------------------------------- links

def test_every_link_leads_somewhere(site):
    ids = {name: {element["id"] for element in page.elements if element["id"]} for name, page in pages(site).items()}
    used = {"icon.svg", "style.css", "hero.js", "index.html", MARKER}
    for name, page in pages(site).items():
        used |= {url for url in fetched(page)}
        for link in page.all("a"):
            assert link.text.strip(), f"{name}: a link without a word, to {link['href']}"
            if link["href"].startswith("https://"):
                continue
            file, _, fragment = link["href"].partition("#")
            used.add(file or name)
            assert not file or (site / unquote(file)).is_file(), f"{name}: a link to {link['href']}"
            assert not fragment or unquote(fragment) in ids[file or name], f"{name}: no place {link['href']}"
    assert {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()} == used


def test_the_chain_is_complete(site):
    names = [f"{path.stem}.html" for path in NOTEBOOKS]
    for index, name in enumerate(names):
        page = parsed(site / name)
        links = lambda rel: {link["href"] for link in page.all("a") if link["rel"] == rel}
        assert links("prev") == set(names[:index][-1:]) and links("next") == set(names[index + 1:index + 2])
        assert sum(link["href"] == "index.html#map" for link in page.all("a")) == 2
    stops = parsed(site / "index.html").all("a", kind="stop")
    assert [stop["href"] for stop in stops] == names


def test_the_map_is_the_readmes_and_agrees_with_the_notebooks(site):
    rows = re.findall(r"^\| \[(\d\d) (.*?)\]\((.*?)\) \| (.*?) \| (\d+) \| ", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert [row[2] for row in rows] == [f"notebooks/{path.name}" for path in NOTEBOOKS]
    index = parsed(site / "index.html").one("ol", kind="map")
    assert squeezed(index.text) == squeezed("".join(
        f"{number}{title}{question}{minutes} min Colab, notebook {number} · Binder, notebook {number}"
        for number, title, _, question, minutes in rows))
    for (*_, minutes), path in zip(rows, NOTEBOOKS):
        assert f"About {minutes} minutes" in path.read_text(encoding="utf-8")


# ---------------------------------------------------------------- pages that anyone can read

def test_pages_are_sound(site):
    titles = collections.Counter()
    for name, page in pages(site).items():
        assert page.one("html")["lang"] == "en" and len(page.all("main")) == len(page.all("footer")) == 1
        titles[page.all("title")[0].text] += 1
        description, = (meta["content"] for meta in page.all("meta") if meta["name"] == "description")
        assert 40 <= len(description) <= 320, f"{name}: {description}"
        headings = [int(element.tag[1]) for element in page.all("h1", "h2", "h3", "h4", "h5", "h6")]
        assert headings[0] == 1 and headings.count(1) == 1
        assert all(after <= before + 1 for before, after in zip(headings, headings[1:])), f"{name}: {headings}"
        ids = [element["id"] for element in page.elements if element["id"]]
        assert len(ids) == len(set(ids)), name
        labels = [nav["aria-label"] for nav in page.all("nav")]
        assert len(set(labels)) == len(labels) and all(labels)
        skip = page.all("a")[0]
        assert skip.classes == ["skip"] and skip["href"] == f"#{page.one('main')['id']}"
        for element in page.all("pre"):
            assert element["tabindex"] == "0" or max(map(len, element.text.split("\n"))) <= 30
        for element in page.elements:
            named = [element[key] for key in ("aria-labelledby", "for", "aria-describedby") if element[key]]
            assert all(target in ids for target in named)
    assert set(titles.values()) == {1}


def test_controls_have_names(site):
    page = parsed(site / "index.html")
    labelled = {label["for"] for label in page.all("label")}
    for control in page.all("input"):
        assert control["id"] in labelled or any(outer.tag == "label" for outer in control.inside)
        assert any(outer.tag == "fieldset" for outer in control.inside)
    status, = (element for element in page.elements if element["role"] == "status")
    assert status.text == hero.marks(**hero.START)["status.text"]


def luminance(colour):
    channels = np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def test_text_stands_out_in_light_and_dark(site):
    css = (site / "style.css").read_text(encoding="utf-8")
    assert "@media screen and (prefers-color-scheme: dark)" in css      # paper is white
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-fA-F]{6})", block)) for block in re.findall(r":root \{(.*?)\}", css, re.S)[:2])
    for colours in (light, {**light, **dark}):
        for text in ("text", "quiet", "link", "string"):
            for ground in ("ground", "panel", "soft-accent"):
                bright, dim = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
                assert (bright + 0.05) / (dim + 0.05) >= 4.5, (text, ground)
        for mark in ("positive", "negative", "wire"):      # what is drawn needs 3; HIDDEN alone has 2.95, so it is outlined
            bright, dim = sorted((luminance(colours[mark]), luminance(colours["ground"])), reverse=True)
            assert (bright + 0.05) / (dim + 0.05) >= 3, mark


# ---------------------------------------------------------------- the build

def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_second_build_is_the_same_and_leaves_nothing_of_the_first(site, tmp_path):
    out = tmp_path / "again"
    (out / "pictures").mkdir(parents=True)
    for stale in (out / MARKER, out / "99_gone.html", out / "pictures" / "99.png"):
        stale.touch()
    build(ROOT, out)
    assert contents(out) == contents(site)


def test_a_folder_with_other_files_is_not_emptied(tmp_path):
    (tmp_path / "thesis.txt").write_text("years", encoding="utf-8")
    with pytest.raises(Refused, match="holds files that no build has made"):
        build(ROOT, tmp_path)
    assert (tmp_path / "thesis.txt").read_text(encoding="utf-8") == "years"


def refuse(*arguments, **options):
    raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize("method", ["exists", "mkdir"])      # in a folder that may not be entered, and in one that may
def test_a_folder_that_cannot_be_written_gets_a_sentence(later, tmp_path, monkeypatch, method):
    out = tmp_path / "out"
    own = getattr(type(out), method)
    monkeypatch.setattr(type(out), method, lambda path, *args, **options: (refuse if path == out else own)(path, *args, **options))
    with pytest.raises(Refused, match=r"out cannot be built \(Permission denied\): name another"):
        build(later, out)


def test_a_file_is_no_folder_to_build(tmp_path):
    (tmp_path / "thesis.txt").write_text("years", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "tools.pages", "--out", tmp_path / "thesis.txt"], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 1 and done.stderr == f"{tmp_path / 'thesis.txt'} cannot be built (Not a directory): name another folder with --out\n"
    assert (tmp_path / "thesis.txt").read_text(encoding="utf-8") == "years"


@pytest.fixture
def later(tmp_path):
    """A stamped course of two notebooks, one of which the README does not know, with all that a link can lead to."""
    root = tmp_path / "course"
    (root / "notebooks").mkdir(parents=True)
    (root / "figures").mkdir()
    (root / "figures" / "four dots.png").write_bytes((ROOT / "figures" / "dead_unit.png").read_bytes())
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace(hero_placeholder(), "ada/ffn")
    (root / "README.md").write_text(readme, encoding="utf-8")
    first = nbformat.v4.new_markdown_cell("# 00 · Start here\n\nIn ten minutes you know.\n\nAbout 10 minutes.")
    text = nbformat.v4.new_markdown_cell(
        "# 14 · Later & more\n\nA promise with `code`.\n\nAbout 5 minutes.\n\n## Same\n\n[back](00_start_here.ipynb#00-·-Start-here), "
        "[helper](../ffn_helpers.py#L3), [folder](../figures), [start](../README.md), [out](https://example.org/), [down](#Same-2)\n\n"
        "![Four dots](<../figures/four dots.png>)\n\n## Same\n\nInline $x_1 < 2$ and a table:\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    code = nbformat.v4.new_code_cell("1 / 0", outputs=[nbformat.v4.new_output(
        "error", ename="ZeroDivisionError", evalue="division by zero", traceback=["\x1b[31mZeroDivisionError\x1b[0m: division by zero"])])
    for name, cells in [("00_start_here", [first]), ("14_later", [text, code])]:
        notebook = nbformat.v4.new_notebook(cells=cells, metadata=tool.NOTEBOOK_METADATA)
        (root / "notebooks" / f"{name}.ipynb").write_text(tool.dumps(notebook), encoding="utf-8")
    return root


def hero_placeholder():
    return re.search(r"colab\.research\.google\.com/github/([^/]+/[^/]+)/", (ROOT / "README.md").read_text(encoding="utf-8")).group(1)


def test_a_notebook_that_comes_later_is_found_by_itself(later, tmp_path):
    out = tmp_path / "out"
    build(later, out)
    page, index = Page((out / "14_later.html").read_text(encoding="utf-8")), Page((out / "index.html").read_text(encoding="utf-8"))
    assert squeezed(index.one("ol", kind="map").text).endswith("14Later&moreApromisewithcode.5min")
    assert {link["href"] for link in page.all("a") if link["rel"] == "prev"} == {"00_start_here.html"}
    links = {link.text: unquote(link["href"]) for link in page.all("a") if page.one("main") in link.inside}
    assert links["back"] == "00_start_here.html#00-·-Start-here" and links["start"] == "index.html" and links["down"] == "#Same-2"
    assert links["helper"] == "https://github.com/ada/ffn/blob/main/ffn_helpers.py#L3" and links["out"] == "https://example.org/"
    assert links["folder"] == "https://github.com/ada/ffn/tree/main/figures"
    assert [heading["id"] for heading in page.all("h2")] == ["Same", "Same-2"]
    picture = page.one("img")
    assert picture["alt"] == "Four dots" and (out / picture["src"]).is_file()
    assert page.one("math").text == "x1<2" and page.one("table").text.split() == list("ab12")
    assert page.one("div", kind="output").text.strip() == "ZeroDivisionError: division by zero"
    footer = index.one("footer")
    assert [link["href"] for link in index.all("a") if footer in link.inside] == ["https://github.com/ada/ffn/blob/main/LICENSE"]


def test_before_the_stamp_a_file_of_the_repository_is_no_link():
    unstamped = Course(ROOT)
    unstamped.slug = None
    assert unstamped.address("../ffn_helpers.py", "notebooks") is None
    assert unstamped.address("https://example.org", "notebooks") == "https://example.org"


def test_the_command_names_the_folder(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(course, "set_up", lambda files: calls.append(files) or "python")
    monkeypatch.setattr(course, "run", lambda command: calls.append([str(part) for part in command]) or 0)
    monkeypatch.chdir(tmp_path)
    assert course.main(["site", "--out", "here"]) == 0
    assert calls == [course.TEST_FILES, ["python", "-m", "tools.pages", "--out", str(tmp_path / "here")]]


def test_the_workflow_publishes_what_the_command_builds():
    text = (ROOT / ".github" / "workflows" / "pages.yml").read_text(encoding="utf-8")
    assert re.search(r"course\.py site --out (\S+)", text).group(1) == re.search(r"^ +path: (\S+)", text, re.M).group(1)
    assert set(re.findall(r"uses: (\S+?)@v\d+$", text, re.M)) == {
        "actions/checkout", "actions/setup-python", "actions/configure-pages", "actions/upload-pages-artifact", "actions/deploy-pages"}
    assert "PIP_EXTRA_INDEX_URL" in text and "id-token: write" in text and "pages: write" in text


# ---------------------------------------------------------------- the picture that moves

def settings():
    """Twenty settings: the start, ends of the controls, folds that meet, nothing left, and random steps."""
    low, high = hero.LIMITS["W1"][0], hero.LIMITS["W1"][1]
    yield dict(hero.START)
    yield dict(hero.START, activation="identity")
    yield dict(hero.START, x=-4.0)
    yield dict(hero.START, x=4.0, W1=[high] * 3, b1=[3.0] * 3)
    yield dict(hero.START, x=-4.0, W1=[low] * 3, b1=[-3.0] * 3)
    yield dict(hero.START, W1=[0.0, 0.0, 0.0], b1=[-1.0, 0.0, 2.0])
    yield dict(hero.START, W1=[0.0, 0.0, 0.0], b1=[-1.0, 0.0, 2.0], activation="identity")
    yield dict(hero.START, W1=[1.0, 1.0, 2.0], b1=[1.0, 1.0, -1.0])      # two folds at one place
    yield dict(hero.START, W1=[2.0, 1.0, 1.0], b1=[0.0, 0.0, -1.0])      # two folds that cancel: 1·2 − 2·1
    yield dict(hero.START, W1=[0.5, -0.5, 0.5], b1=[3.0, -3.0, -3.0])    # every fold out of the frame
    yield dict(hero.START, x=-0.3, W1=[-1.5, 0.5, -0.5], b1=[0.5, -2.5, 1.5], activation="identity")
    random = np.random.default_rng(0)
    step = lambda name, size=None: np.round(random.integers(
        round(hero.LIMITS[name][0] / hero.LIMITS[name][2]), round(hero.LIMITS[name][1] / hero.LIMITS[name][2]) + 1, size) * hero.LIMITS[name][2], 10)
    for _ in range(9):
        yield dict(x=float(step("x")), W1=step("W1", 3).tolist(), b1=step("b1", 3).tolist(), activation="relu")


SETTINGS = list(settings())


@pytest.mark.parametrize("values", SETTINGS, ids=range(len(SETTINGS)))
def test_the_picture_says_what_torch_computes(values):
    net = fh.PositionWiseFFN(1, 3, activation=values["activation"]).double()
    with torch.no_grad():
        for weight, stored in [(net.expand.weight, np.array([values["W1"]]).T), (net.expand.bias, values["b1"]),
                               (net.contract.weight, [hero.FIXED["W2"]]), (net.contract.bias, [hero.FIXED["b2"]])]:
            weight.copy_(torch.as_tensor(stored, dtype=torch.float64))
        token = torch.tensor([values["x"]], dtype=torch.float64)
        z, y = net.expand(token), net(token).item()
        xs = torch.linspace(-4, 4, 161, dtype=torch.float64)
        ys = net(xs[:, None])[:, 0].numpy()
    m = hero.marks(**values)
    assert m["value.text"] == f"y = {fh.num(y)}" and m["y.text"] == fh.num(y)
    assert [m[f"z{i}.text"] for i in range(3)] == [f"z = {fh.num(value)}" for value in z]
    assert f"gives z = {fh.vec(z.detach())}." in m["status.text"] and f"so y = {fh.num(y)}" in m["status.text"]
    points = np.array([[float(part) for part in point.split(",")] for point in m["curve.points"].split()])
    frame = hero.FRAME
    at = frame["low"] + (points[:, 0] - frame["left"]) * (frame["high"] - frame["low"]) / frame["width"]
    height = frame["ceiling"] - (points[:, 1] - frame["top"]) * (frame["ceiling"] - frame["bottom"]) / frame["height"]
    assert np.abs(np.interp(xs.numpy(), at, height) - ys).max() < 0.01
    slopes = np.diff(ys) / np.diff(xs.numpy())
    found = int(re.match(r"\d*", m["finding.text"]).group(0) or 0)
    assert len(points) == found + 2
    assert (found > 0) == (np.ptp(slopes) > 1e-6)
    if values["activation"] == "identity":
        slope, offset = np.polyfit(xs.numpy(), ys, 1)
        assert f"one straight line: y = {hero.line(round(slope, 6), round(offset, 6))}." in m["status.text"]
    else:
        cut = int((z < 0).sum())
        assert f"The ReLU cuts {cut} of 3" in m["status.text"]
        assert [m[f"unit{i}.class"] for i in range(3)] == ["unit cut" if value < 0 else "unit" for value in z]


def test_what_stands_fixed_in_the_picture_is_what_the_helper_computes_with(site):
    page = parsed(site / "index.html")
    network = page.one("svg", kind="network")
    inside = lambda tag: [element for element in page.all(tag) if network in element.inside]
    factors = [text for text in inside("text") if text.text.startswith("×")]
    assert [text.text for text in factors] == [f"× {fh.num(weight)}" for weight in hero.FIXED["W2"]]
    assert sorted(factors, key=lambda text: float(text["y"])) == factors      # the first is the uppermost unit's
    for i, weight in enumerate(hero.FIXED["W2"]):
        wire, = (line for line in inside("line") if line["id"] == f"hero-out{i}")
        assert float(wire["stroke-width"]) == 1 + 2 * abs(weight) and float(wire["y1"]) == hero.BAR["base"][i]
    assert [text.text for text in inside("text") if text.text[0] in "+−"] == [f"+ {fh.num(hero.FIXED['b2'])}"]
    assert "computes z = W1 x + b1 and passes h on; their sum, weighted by W2, plus b2 is y." in page.all("title")[1].text
    assert [text.text for text in inside("text") if "W" in text.text] == ["W1, b1", "W2, b2"]


def test_what_leaves_the_frame_is_pointed_at():
    low, high = (hero.marks(**dict(hero.START, x=x, W1=[0.0, 0.0, 2.0], b1=[0.0, b, 3.0])) for x, b in [(-4.0, 3.0), (4.0, 0.0)])
    assert low["value.text"] == "y = −5" and high["value.text"] == "y = 23"
    for m in (low, high):
        assert m["beyond.visibility"] == "visible" and m["dot.visibility"] == "hidden"
        assert all(hero.FRAME["top"] <= float(point.split(",")[1]) <= hero.FRAME["top"] + hero.FRAME["height"]
                   for point in m["beyond.points"].split())


@pytest.mark.parametrize("b1, unseen", [([2.0, 0.0, -2.0], 0), ([3.0, 3.0, -3.0], 1), ([0.0, -3.0, 3.0], 2)])
def test_a_bend_that_lies_outside_the_frame_is_not_counted_as_seen(b1, unseen):
    m = hero.marks(**dict(hero.START, b1=b1))
    assert m["finding.text"].partition("; ")[2] == (f"{unseen} beyond the frame" if unseen else "")
    middle, half = hero.FRAME["top"] + hero.FRAME["height"] / 2, hero.FRAME["height"] / 2
    shown = [i for i in range(3) if m[f"bend{i}.visibility"] == "visible"]
    assert sum(abs(float(m[f"bend{i}.cy"]) - middle) > half for i in shown) == unseen


# ---------------------------------------------------------------- other viewers

@pytest.fixture(scope="session")
def stock():
    return HTMLExporter()


@every_notebook
def test_the_stock_exporter_shows_every_picture_and_every_answer(path, stock):
    """Without the code, which takes long to colour, and with a number for each picture's pixels."""
    notebook = nbformat.read(path, as_version=4)
    images, answers = [], []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            answers += re.findall(r"<summary>(.*?)</summary>", cell.source)
        else:
            cell.source = ""
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output.data["text/html"] = re.sub(r"base64,[^\"]+", f"base64,{len(images):08}", output.data["text/html"])
                images += images_in(output.data["text/html"])
    body, _ = stock.from_notebook_node(notebook)
    shown = images_in(re.sub(r"<script.*?</script>|<style.*?</style>", "", body, flags=re.S))
    assert [(image["src"], image["alt"]) for image in shown] == [(image["src"], image["alt"]) for image in images]
    assert [html.unescape(text) for text in re.findall(r"<details>\s*<summary>(.*?)</summary>", body)] == [html.unescape(text) for text in answers]
    assert body.count("</details>") == len(answers)
