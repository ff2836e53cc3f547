"""One notebook to the HTML of one page, through nbconvert.

The stock template brings MathJax, require.js and a widget manager from elsewhere, and every picture inside
the page. Here formulas become MathML, pictures files of their own, and the rest plain semantic HTML.
"""
import base64
import html
import re
import struct
from collections import namedtuple
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import nbformat
from latex2mathml.converter import convert as mathml
from nbconvert.exporters import TemplateExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments.lexers import PythonLexer
from pygments.token import Comment, Keyword, Operator, String

# What the browser shows a page without a kernel is given, best first; a widget's view is nothing to it.
PRIORITY = ["text/html", "text/plain"]
# Characters of code that fit on a page 320 pixels wide: what is longer scrolls, and must then take the keyboard.
NARROW = 30
TOKENS = [(Comment, "c"), (Keyword, "k"), (Operator.Word, "k"), (String, "s")]
VERDICT = re.compile(r"(C\d{3}[a-k]?) (true|corrected|nuanced|unverifiable): (.*)")
CHECK = re.compile(r"(correct|not yet): (.*)")

# A converted notebook: `sections` are (id, heading) of its second level, `promise` its first sentence.
Page = namedtuple("Page", "name title promise minutes sections body")


def plain(markup):
    """The text of a piece of HTML."""
    return html.unescape(re.sub(r"<[^>]+>", "", markup)).strip()


# ---------------------------------------------------------------- code and what it prints

def highlighted(code):
    parts = []
    for kind, text in PythonLexer(stripnl=False).get_tokens(code):
        name = next((name for token, name in TOKENS if kind in token), None)
        text = html.escape(text, quote=False)
        parts.append(f'<span class="{name}">{text}</span>' if name else text)
    return "".join(parts).rstrip("\n")


def preformatted(text, markup, kind):
    """A `<pre>`; one that may scroll can be reached and scrolled from the keyboard."""
    wide = max(map(len, text.split("\n"))) > NARROW
    focus = f' tabindex="0" role="group" aria-label="{kind}"' if wide else ""
    return f'<pre class="{kind.lower()}"{focus}><code>{markup}</code></pre>\n'


def code_block(text, language="python"):
    markup = highlighted(text) if language in ("", "python") else html.escape(text, quote=False)
    return preformatted(text.rstrip("\n"), markup.rstrip("\n"), "Code")


def code_cell(cell):
    """The source of a code cell; the first one, hidden in notebooks, is folded under its title."""
    block = code_block(cell.source)
    if not cell.metadata.get("jupyter", {}).get("source_hidden"):
        return block
    title = re.match(r"#@title (.*)", cell.source)
    return f"<details class=\"folded\"><summary>{html.escape(title.group(1) if title else 'Code', quote=False)}</summary>\n{block}</details>\n"


def printed(text):
    """Printed lines as they are; a verdict or the answer of a check, which are sentences, may wrap."""
    parts, lines = [], []

    def flush():
        if any(lines):
            block = "\n".join(lines).strip("\n")
            parts.append(preformatted(block, html.escape(block, quote=False), "Output"))
        lines.clear()

    for line in text.rstrip("\n").split("\n"):
        verdict, check = VERDICT.fullmatch(line), CHECK.fullmatch(line)
        if verdict:
            flush()
            claim, word, result = (html.escape(part, quote=False) for part in verdict.groups())
            parts.append(f'<p class="verdict {word}"><span class="claim">{claim}</span> <strong>{word}</strong>: {result}</p>\n')
        elif check:
            flush()
            word, result = (html.escape(part, quote=False) for part in check.groups())
            parts.append(f'<p class="check"><strong>{word}</strong>: {result}</p>\n')
        else:
            lines.append(line)
    flush()
    return "".join(parts)


# ---------------------------------------------------------------- Markdown

class Renderer(IPythonRenderer):
    """nbconvert's Markdown, with links that lead somewhere on this site and formulas as MathML.

    course  answers where a link leads: `course.address(url, folder)`
    folder  the folder of the file that the Markdown stands in
    """

    def __init__(self, course, folder, copy=None):
        super().__init__(escape=False, exclude_anchor_links=True)
        self.course, self.folder, self.copy = course, folder, copy
        self.headings = {}

    def heading(self, text, level, **attributes):
        # JupyterLab's own rule, so that a link to a heading holds in both places.
        name = wanted = plain(text).replace(" ", "-")
        number = 1
        while name in self.headings:
            number += 1
            name = f"{wanted}-{number}"
        self.headings[name] = level, plain(text)
        return f'<h{level} id="{html.escape(name)}">{text}</h{level}>\n'

    def link(self, text, url, title=None):
        url = self.course.address(url, self.folder)
        return text if url is None else f'<a href="{html.escape(url)}">{text}</a>'

    def image(self, text, url, title=None):
        path = self.course.root / self.folder / unquote(url)
        return self.copy(text, path.read_bytes(), path.name.replace(" ", "-"))

    def block_code(self, code, info=None):
        return code_block(code, (info or "").split(" ")[0])

    def table(self, text):
        return f'<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n{text}</table></div>\n'

    def block_math(self, body):
        return self.formula(body, "block")

    def inline_math(self, body):
        return self.formula(body, "inline")

    @staticmethod
    def formula(body, display):
        text = html.escape(body.strip())
        return mathml(body.strip(), display=display).replace("<math ", f'<math alttext="{text}" ', 1)


def markdown(text, course, folder, copy=None):
    return MarkdownWithMath(renderer=Renderer(course, folder, copy)).render(text)


# ---------------------------------------------------------------- a notebook

class Image(HTMLParser):
    """The attributes of the first `<img>` in a piece of HTML, as `attributes`."""

    def __init__(self, text):
        super().__init__()
        self.attributes = {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "img" and not self.attributes:
            self.attributes = dict(attributes)


class Converter:
    """Turns notebooks into pages and gathers the pictures that the pages show in `pictures`, {path: bytes}."""

    def __init__(self, course):
        self.course, self.pictures = course, {}
        self.exporter = TemplateExporter(extra_template_basedirs=[str(Path(__file__).parent / "templates")],
                                         template_name="course", file_extension=".html")
        self.exporter.register_filter("markdown", lambda text: self.render(text))
        self.exporter.register_filter("code", code_cell)
        self.exporter.register_filter("printed", printed)
        self.exporter.register_filter("rich", self.rich)
        self.exporter.register_filter("filter_data_type", lambda data: [kind for kind in PRIORITY if kind in data][:1])

    def page(self, path):
        self.name, self.number = path.stem, 0
        renderer = Renderer(self.course, "notebooks", self.picture)
        self.render = MarkdownWithMath(renderer=renderer).render
        notebook = nbformat.read(path, as_version=4)
        intro = next(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        colab = re.search(r"\]\((https://colab\.research\.google\.com/[^)]+)\)", intro)
        self.colab = colab.group(1) if colab else None
        body, _ = self.exporter.from_notebook_node(notebook)
        title, promise = re.match(r"# (.*)\n+(.*)", intro).groups()
        minutes = re.search(r"About (\d+) minutes", intro)
        sections = [(name, text) for name, (level, text) in renderer.headings.items() if level == 2]
        return Page(path.stem, title, plain(markdown(promise, self.course, "notebooks")),
                    minutes.group(1) if minutes else "", sections, body)

    def rich(self, data, cell):
        """HTML output: its pictures become figures, with the way to move the one that an explorer starts from."""
        moves = bool(re.search(r"\bfh\.explore\(", cell.source))
        sentence = data.get("text/plain", "")

        def figure(match):
            image = Image(match.group(0)).attributes
            png = base64.b64decode(image["src"].partition("base64,")[2])
            self.number += 1
            name = f"pictures/{self.name[:2]}-{cell.id}-{self.number}.png"
            links = [f'<a href="{name}">Full size<span class="unseen"> of picture {self.number}</span></a>']
            if moves and self.colab:
                links.insert(0, f'<a href="{html.escape(self.colab)}">Move it in Colab<span class="unseen">, picture {self.number}</span></a>')
            return (f'<figure class="picture">{self.picture(image["alt"], png, name, image.get("width"))}\n'
                    f'<figcaption><span class="sentence">{html.escape(sentence, quote=False)}</span> '
                    f'<span class="links">{" · ".join(links)}</span></figcaption></figure>\n')

        return re.sub(r"<img\b[^>]*>", figure, data["text/html"])

    def picture(self, alt, png, name, width=None):
        """An `<img>` that keeps its place while it loads; the file goes into `pictures`."""
        name = name if name.startswith("pictures/") else f"pictures/{name}"
        self.pictures[name] = png
        pixels = struct.unpack(">II", png[16:24])
        width = int(width or pixels[0] // 2)                  # drawn at two pixels to one of the page
        height = round(width * pixels[1] / pixels[0])
        return (f'<img src="{name}" alt="{html.escape(alt)}" width="{width}" height="{height}" '
                f'loading="lazy" decoding="async">')
