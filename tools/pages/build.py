"""Builds the folder: pages, pictures, style, script. The same repository always gives the same bytes."""
import contextlib
import re
import shutil
from collections import namedtuple
from pathlib import Path
from urllib.parse import quote, unquote

import jinja2

import ffn_helpers as fh
from course import PLACEHOLDER
from tools.pages import hero
from tools.pages.convert import Converter, markdown

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = Path(__file__).parent / "templates"
MARKER = ".course-site"          # says that a folder is ours to empty

ROW = re.compile(r"^\| \[(?P<title>[^\]]+)\]\(notebooks/(?P<name>[^)]+)\.ipynb\) \| (?P<question>.*?) \| (?P<minutes>\d+) \| (?P<links>.*?) \|$", re.M)

# One stop of the map; `links` are those to Colab and Binder, as Markdown.
Stop = namedtuple("Stop", "name number title question minutes links")


class Refused(Exception):
    """The folder is not one that may be emptied, or written to."""


@contextlib.contextmanager
def refusing(out):
    """Let what the system says about the folder become a sentence."""
    try:
        yield
    except OSError as error:
        raise Refused(f"{out} cannot be built ({error.strerror}): name another folder with --out") from None


class Course:
    """What the pages say about the course as a whole, read from the repository at `root`."""

    def __init__(self, root):
        self.root = Path(root)
        self.readme = (self.root / "README.md").read_text(encoding="utf-8")
        slug = re.search(r"colab\.research\.google\.com/github/([\w.-]+/[\w.-]+?)/", self.readme)
        self.slug = slug.group(1) if slug and slug.group(1) != PLACEHOLDER else None
        self.paths = sorted((self.root / "notebooks").glob("*.ipynb"))
        self.names = [path.stem for path in self.paths]
        self.title = re.search(r"^# (.*)$", self.readme, re.M).group(1)

    def stops(self, pages):
        """The map in the order of the notebooks. A notebook that the README does not list yet speaks for itself."""
        rows = {row["name"]: row.groupdict() for row in ROW.finditer(self.readme)}
        for page in pages:
            own = dict(title=page.title.replace(" ·", ""), question=page.promise, minutes=page.minutes, links="")
            row = {**own, **rows.get(page.name, {})}
            number, _, title = row["title"].partition(" ")
            yield Stop(page.name, number, title, row["question"], row["minutes"], row["links"])

    def section(self, heading):
        """The README's text under a heading, without the heading."""
        return re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", self.readme, re.M | re.S).group(1).strip()

    def paragraph(self, start):
        """The README's paragraph that begins with `start`."""
        return re.search(rf"^{re.escape(start)}.*$", self.readme, re.M).group(0)

    def address(self, url, folder):
        """Where a link in a file of `folder` leads from a page of the site; None when nowhere.

        A notebook is its page, the README the map. Any other file of the repository is on GitHub, once
        the README's links hold the repository's address.
        """
        if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|#", url):
            return url
        file, mark, fragment = url.partition("#")
        path = (self.root / folder / unquote(file)).resolve().relative_to(self.root.resolve()).as_posix()
        if path == "README.md":
            return "index.html"
        if path.startswith("notebooks/") and Path(path).stem in self.names:
            return f"{Path(path).stem}.html{mark}{fragment}"
        if self.slug is None:
            return None
        return f"https://github.com/{self.slug}/{'tree' if (self.root / path).is_dir() else 'blob'}/main/{quote(path)}{mark}{fragment}"


def build(root, out):
    """Build the site of the course at `root` into the folder `out`; returns the names of its files.

    What was in `out` is removed, if an earlier build made it; else `Refused` is raised, as where nothing can be written.
    """
    out = Path(out)
    with refusing(out):
        if out.exists() and any(out.iterdir()) and not (out / MARKER).exists():
            raise Refused(f"{out} holds files that no build has made: name another folder, or empty it")
    course = Course(root)
    converter = Converter(course)
    pages = [converter.page(path) for path in course.paths]
    stops = list(course.stops(pages))
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined,
                                     trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    environment.filters["markdown"] = lambda text: markdown(text, course, ".")
    environment.filters["inline"] = lambda text: re.sub(r"^<p>|</p>\s*$", "", markdown(text, course, "."))
    render = lambda name, **values: environment.get_template(name).render(course=course, fh=fh, **values)

    files = dict(converter.pictures)
    for index, (page, stop) in enumerate(zip(pages, stops)):
        around = dict(previous=stops[index - 1] if index else None,
                      next=stops[index + 1] if index + 1 < len(stops) else None)
        files[f"{page.name}.html"] = render("notebook.html.j2", page=page, stop=stop, title=page.title,
                                            description=page.promise, **around)
    files["index.html"] = render("index.html.j2", stops=stops, hero=hero, m=hero.marks(**hero.START), title="",
                                 description=re.sub(r"[*`]", "", course.paragraph("A course in ")))
    files["style.css"] = render("style.css.j2")
    files["icon.svg"] = render("icon.svg.j2")
    files["hero.js"] = (TEMPLATES / "hero.js").read_text(encoding="utf-8")
    files[MARKER] = ""

    with refusing(out):
        if out.exists():
            shutil.rmtree(out)
        for name, content in files.items():
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return sorted(files)
