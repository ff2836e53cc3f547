"""What every notebook must be, beside running with the stored outputs.

nbval lets a lot through: stripped outputs, missing pictures, widget state, skipped cells, anything in
Markdown. Each rule below closes one such hole or holds one line of the house style. A rule takes a
notebook (as `read` returns it) and returns its complaints; below each rule stands the fault that
proves that it bites.
"""
import ast
import base64
import configparser
import copy
import importlib
import json
import re
import statistics
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from nbval.plugin import IPyNbFile

from tools import notebooks as tool

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TAGS = {"long-lesson", "raises-exception"}
LONGEST, MEDIAN = 15, 6  # of a code cell: its lines at most, its statements in the middle
WIDEST = 120  # characters of a line: what a laptop's window shows without scrolling sideways
ALT_WORDS = 40
LARGEST = 1_000_000  # bytes
HUES = re.compile(r"(?i)\b(?:pink|magenta|purple|orange|red|yellow|brown|green|blue)\b")
# What GitHub's notebook viewer keeps of HTML. The one style is fh.show's, which GitHub drops: it says nothing.
KEPT_TAGS = set("""a b blockquote br code dd details div dl dt em h1 h2 h3 h4 h5 h6 hr i img kbd li ol p pre
                   span strong sub summary sup table tbody td th thead tr ul""".split())
KEPT_ATTRIBUTES = {"align", "alt", "colspan", "height", "href", "open", "rowspan", "src", "start", "title", "width"}
LOST_STYLE = "max-width:100%;height:auto"
# Constructs whose outputs never repeat exactly, or that stack pictures on Colab.
UNSTEADY = {"interact", "interact_manual", "interactive", "interactive_output", "clear_output", "Output",
            "update_display"}

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


# ---------------------------------------------------------------- reading

def joined(value):
    return "".join(value) if isinstance(value, list) else value


def read(text, name="x.ipynb"):
    """A notebook's JSON with multi-line strings joined, and its file name as `name`."""
    notebook = json.loads(text)
    notebook["name"] = name
    for cell in notebook["cells"]:
        cell["source"] = joined(cell["source"])
        for output in cell.get("outputs", []):
            output["text"] = joined(output.get("text", ""))
            output["data"] = {mime: joined(value) for mime, value in output.get("data", {}).items()}
    return notebook


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def markdown_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]


def outputs(notebook):
    return [output for cell in code_cells(notebook) for output in cell["outputs"]]


def first_line(cell):
    return repr(cell["source"].strip().split("\n")[0][:60])


class Elements(HTMLParser):
    """Every element in a piece of HTML or Markdown, as (tag, attributes)."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, {name: value or "" for name, value in attributes}))


def images_in(text):
    """The attributes of every <img> in a piece of HTML or Markdown."""
    return [attributes for tag, attributes in Elements(text).found if tag == "img"]


def without_code(markdown):
    return re.sub(r"```.*?```|`[^`\n]*`", "", markdown, flags=re.S)


def straight_quotes(text):
    """Where a text for readers says " or ' for “ ” or ’; code, tags and formulas keep their own."""
    return re.findall(r""".{,12}["'].{,12}""", re.sub(r"<[^>\n]*>|\$[^$]*\$", "", without_code(text)))


def images(notebook):
    texts = [cell["source"] for cell in markdown_cells(notebook)]
    texts += [output["data"].get("text/html", "") for output in outputs(notebook)]
    return [image for text in texts for image in images_in(text)]


def alt_texts(text):
    """The alt texts in a piece of Markdown or HTML; "" where one is missing."""
    return re.findall(r"!\[([^\]]*)\]\(", text) + [image.get("alt", "") for image in images_in(text)]


def alt_faults(alt, *shown):
    """What is wrong with an alt text; it must say more than what is `shown` beside it anyway."""
    words, faults = len(alt.split()), []
    if not 0 < words <= ALT_WORDS:
        faults.append(f"alt text of {words} words (1 to {ALT_WORDS}): {alt[:60]!r}")
    elif not re.search(r"\d", alt):
        faults.append(f"alt text without a value: {alt[:60]!r}")
    if alt and alt.strip(" .") in [text.strip(" .") for text in shown]:
        faults.append(f"alt text that only repeats the title or sentence: {alt[:60]!r}")
    return faults


def names_used(cell):
    """Every name and attribute in a code cell, or nothing when it does not parse (a rule of its own)."""
    try:
        tree = ast.parse(cell["source"])
    except SyntaxError:
        return set()
    return ({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            | {alias.name for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))
               for alias in node.names}
            | {keyword.arg for node in ast.walk(tree) if isinstance(node, ast.Call) for keyword in node.keywords})


# ---------------------------------------------------------------- the rules and their faults

RULES, FAULTS = {}, {}


def rule(function):
    RULES[function.__name__] = function
    return function


def fault(name):
    """Register a function that breaks a good notebook so that the rule `name` must complain."""
    return lambda function: FAULTS.setdefault(name, []).append(function)


@rule
def has_code(notebook):
    return [] if code_cells(notebook) else ["no code cell"]


@fault("has_code")
def _(notebook):
    notebook["cells"] = markdown_cells(notebook)


@rule
def was_executed_in_order(notebook):
    counts = [cell["execution_count"] for cell in code_cells(notebook)]
    complaints = [] if counts == list(range(1, len(counts) + 1)) else [f"execution counts are {counts}"]
    return complaints + [f"an output of cell {cell['execution_count']} is numbered {output['execution_count']}"
                         for cell in code_cells(notebook) for output in cell["outputs"]
                         if output.get("execution_count", cell["execution_count"]) != cell["execution_count"]]


@fault("was_executed_in_order")
def _(notebook):
    for cell in code_cells(notebook):
        cell["execution_count"], cell["outputs"] = None, []


@fault("was_executed_in_order")
def _(notebook):
    code_cells(notebook)[-1]["execution_count"] += 1


@fault("was_executed_in_order")
def _(notebook):
    code_cells(notebook)[1]["outputs"].append({"output_type": "execute_result", "execution_count": 1, "text": "", "data": {}})


@rule
def skips_nothing(notebook):
    tags = {tag for cell in notebook["cells"] for tag in cell["metadata"].get("tags", [])}
    markers = [mark for cell in code_cells(notebook)
               for mark in re.findall(r"NBVAL_\w+|PYTEST_VALIDATE_IGNORE_OUTPUT", cell["source"])]
    return [f"tag {tag!r} is not one of {sorted(TAGS)}" for tag in tags - TAGS] + markers


@fault("skips_nothing")
def _(notebook):
    code_cells(notebook)[0]["metadata"]["tags"] = ["nbval-ignore-output"]


@fault("skips_nothing")
def _(notebook):
    code_cells(notebook)[0]["source"] += "\n# NBVAL_SKIP"


@rule
def errors_are_announced(notebook):
    complaints = []
    for cell in code_cells(notebook):
        tagged = "raises-exception" in cell["metadata"].get("tags", [])
        raised = any(output["output_type"] == "error" for output in cell["outputs"])
        if tagged != raised:
            complaints.append(f"cell {first_line(cell)}: "
                              + ("is tagged raises-exception and raised nothing" if tagged else "raised an error"))
    return complaints


@fault("errors_are_announced")
def _(notebook):
    code_cells(notebook)[0]["outputs"].append(
        {"output_type": "error", "ename": "E", "evalue": "", "traceback": [], "text": "", "data": {}})


@fault("errors_are_announced")
def _(notebook):
    code_cells(notebook)[0]["metadata"]["tags"] = ["raises-exception"]


@rule
def is_quiet(notebook):
    return [f"stderr: {output['text'][:80]!r}" for output in outputs(notebook) if output.get("name") == "stderr"]


@fault("is_quiet")
def _(notebook):
    code_cells(notebook)[0]["outputs"].append(
        {"output_type": "stream", "name": "stderr", "text": "UserWarning", "data": {}})


@rule
def pictures_are_img_with_data(notebook):
    """Only an <img> in HTML carries alt text to the page, so no bare image/png and no SVG output."""
    complaints = [f"an output of type {mime}: use fh.show" for output in outputs(notebook)
                  for mime in output["data"] if mime.startswith("image/")]
    for image in (i for output in outputs(notebook) for i in images_in(output["data"].get("text/html", ""))):
        head, _, data = image.get("src", "").partition("base64,")
        if head != "data:image/png;" or not base64.b64decode(data[:400]).startswith(b"\x89PNG"):
            complaints.append(f"an <img> without PNG data: src={image.get('src', '')[:40]!r}")
    return complaints


@fault("pictures_are_img_with_data")
def _(notebook):
    data = code_cells(notebook)[1]["outputs"][0]["data"]
    data["text/html"] = re.sub('src="[^"]*"', 'src="data:image/png;base64,"', data["text/html"])


@fault("pictures_are_img_with_data")
def _(notebook):
    code_cells(notebook)[1]["outputs"][0]["data"]["image/png"] = "iVBORw0KGgo="


@rule
def every_picture_has_alt_text(notebook):
    written = [fault for cell in markdown_cells(notebook) for alt in alt_texts(cell["source"]) for fault in alt_faults(alt)]
    return written + [fault for output in outputs(notebook) for alt in alt_texts(output["data"].get("text/html", ""))
                      for fault in alt_faults(alt, output["data"].get("text/plain", ""))]


@fault("every_picture_has_alt_text")
def _(notebook):
    data = code_cells(notebook)[1]["outputs"][0]["data"]
    data["text/html"] = re.sub('alt="[^"]*"', "", data["text/html"])


@fault("every_picture_has_alt_text")
def _(notebook):
    data = code_cells(notebook)[1]["outputs"][0]["data"]
    data["text/html"] = re.sub('alt="[^"]*"', 'alt="%s"' % ("word " * 41), data["text/html"])


@fault("every_picture_has_alt_text")
def _(notebook):
    data = code_cells(notebook)[1]["outputs"][0]["data"]
    data["text/html"] = data["text/html"].replace("4 dots.", "Some dots.")


@fault("every_picture_has_alt_text")
def _(notebook):
    code_cells(notebook)[1]["outputs"][0]["data"]["text/plain"] = "4 dots"


@fault("every_picture_has_alt_text")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += "\n![](../figures/x.png)"


@fault("every_picture_has_alt_text")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += "\n![A network.](../figures/x.png)"


@rule
def html_outputs_speak_everywhere(notebook):
    """A picture with alt text where HTML shows, the sentence where only text does."""
    return [f"cell {first_line(cell)}: an HTML output without {lack}"
            for cell in code_cells(notebook) for output in cell["outputs"] if "text/html" in output["data"]
            for lack, there in [("a picture", images_in(output["data"]["text/html"])),
                                ("text beside it", output["data"].get("text/plain", "").strip())] if not there]


@fault("html_outputs_speak_everywhere")
def _(notebook):
    code_cells(notebook)[1]["outputs"][0]["data"]["text/html"] = "<b>4</b>"


@fault("html_outputs_speak_everywhere")
def _(notebook):
    del code_cells(notebook)[1]["outputs"][0]["data"]["text/plain"]


@rule
def pictures_come_with_the_repository(notebook):
    """From elsewhere they break one day, and GitHub shows no attachments."""
    sources = [image.get("src", "") for image in images(notebook)]
    sources += [source for cell in markdown_cells(notebook) for source in re.findall(r"!\[[^\]]*\]\(([^)\s]+)", cell["source"])]
    return [f"a picture from {source[:60]}" for source in sources if re.match(r"(?!data:)[a-z]+:|//", source)]


@fault("pictures_come_with_the_repository")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += "\n![Four dots](https://example.org/x.png)"


@fault("pictures_come_with_the_repository")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += "\n![Four dots](attachment:x.png)"


@rule
def html_survives_github(notebook):
    """Its viewer drops scripts, styles, classes and unknown elements: nothing may be said by them alone."""
    texts = [without_code(cell["source"]) for cell in markdown_cells(notebook)]
    texts += [output["data"].get("text/html", "") for output in outputs(notebook)]
    complaints = []
    for tag, attributes in (element for text in texts for element in Elements(text).found):
        complaints += [f"<{tag}>"] if tag not in KEPT_TAGS else []
        complaints += [f"<{tag} {name}={value[:40]!r}>" for name, value in attributes.items()
                       if name not in KEPT_ATTRIBUTES and (tag, name, value) != ("img", "style", LOST_STYLE)]
    return complaints


@fault("html_survives_github")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += "\n<script>alert(1)</script>"


@fault("html_survives_github")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += ' <b style="color:red">wrong</b>'


@fault("html_survives_github")
def _(notebook):
    code_cells(notebook)[1]["outputs"][0]["data"]["text/html"] += '<span class="good">4</span>'


@rule
def folded_answers_render(notebook):
    """Markdown between <details> and </details> is Markdown only between blank lines, and never in the summary."""
    complaints = []
    for cell in markdown_cells(notebook):
        text = without_code(cell["source"])
        whole = re.findall(r"^<details><summary>([^\n]+)</summary>\n\n(?:.|\n)*?\n\n</details>(?=\n\n|\s*\Z)", text, re.M)
        if not len(whole) == text.count("<details") == text.count("</details") == text.count("<summary"):
            complaints.append(f"cell {first_line(cell)}: a folded answer without its blank lines")
        # Backticks are gone with the code, so they are looked for in the whole text.
        complaints += [f"Markdown in a summary: {summary}" for summary in re.findall("<summary>(.*)</summary>", cell["source"])
                       if re.search(r"`|\*\*|\]\(", summary)]
    return complaints


@fault("folded_answers_render")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += "\n<details><summary>Solution</summary>\n**4**\n\n</details>"


@fault("folded_answers_render")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += "\n<details><summary>Solution</summary>\n\n**4**\n</details>"


@fault("folded_answers_render")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += "\n<details><summary>Is `4` right?</summary>\n\nYes.\n\n</details>"


@rule
def metadata_is_known(notebook):
    """No widget state (GitHub then refuses to show the file), no timestamps, no versions."""
    complaints = []
    if notebook["metadata"] != tool.NOTEBOOK_METADATA:
        complaints.append(f"notebook metadata is {notebook['metadata']}")
    for cell in notebook["cells"]:
        complaints += [f"cell metadata {key!r}" for key in set(cell["metadata"]) - tool.CELL_METADATA]
    return complaints


@fault("metadata_is_known")
def _(notebook):
    notebook["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {}}


@fault("metadata_is_known")
def _(notebook):
    notebook["metadata"]["language_info"]["version"] = "3.12.1"


@fault("metadata_is_known")
def _(notebook):
    code_cells(notebook)[0]["metadata"]["execution"] = {"iopub.execute_input": "2026-01-01T00:00:00Z"}


@rule
def nothing_is_collapsed(notebook):
    """A hidden output is as good as none; only the set-up, the first code cell, keeps its source folded."""
    complaints = []
    for cell in notebook["cells"]:
        folds = {key: cell["metadata"][key] for key in ("jupyter", "cellView") if key in cell["metadata"]}
        if folds and (cell is not code_cells(notebook)[0] or folds.get("jupyter", {}).keys() - {"source_hidden"}):
            complaints.append(f"cell {first_line(cell)} is folded: {folds}")
    return complaints


@fault("nothing_is_collapsed")
def _(notebook):
    code_cells(notebook)[0]["metadata"]["jupyter"] = {"source_hidden": True, "outputs_hidden": True}


@fault("nothing_is_collapsed")
def _(notebook):
    code_cells(notebook)[1]["metadata"]["jupyter"] = {"source_hidden": True}


@fault("nothing_is_collapsed")
def _(notebook):
    code_cells(notebook)[1]["metadata"]["cellView"] = "form"


@rule
def no_widget_views(notebook):
    return ["a stored widget view" for output in outputs(notebook) if tool.WIDGET_VIEW in output["data"]]


@fault("no_widget_views")
def _(notebook):
    code_cells(notebook)[1]["outputs"][0]["data"][tool.WIDGET_VIEW] = {"model_id": "1"}


@rule
def no_unsteady_constructs(notebook):
    complaints = []
    for cell in code_cells(notebook):
        complaints += [f"cell {first_line(cell)} uses {name}"
                       for name in (UNSTEADY | {"display_id"}) & names_used(cell)]
        if re.search(r"display\(.*\)\.update\b", cell["source"]):
            complaints.append(f"cell {first_line(cell)} updates a display")
        if cell["source"].rstrip().endswith(";"):
            complaints.append(f"cell {first_line(cell)} ends with a semicolon")
    return complaints


@fault("no_unsteady_constructs")
def _(notebook):
    code_cells(notebook)[0]["source"] = "import ipywidgets as w\nw.interact(print, x=1)"


@fault("no_unsteady_constructs")
def _(notebook):
    code_cells(notebook)[0]["source"] = "1 + 1;"


@fault("no_unsteady_constructs")
def _(notebook):
    code_cells(notebook)[0]["source"] = "h = display(1, display_id=True)"


@rule
def no_addresses(notebook):
    texts = [output["text"] + " ".join(v for v in output["data"].values() if isinstance(v, str))
             for output in outputs(notebook)]
    return [f"an object's address: {found}" for text in texts
            for found in re.findall(r"at 0x[0-9a-fA-F]{6,}", text)]


@fault("no_addresses")
def _(notebook):
    code_cells(notebook)[0]["outputs"][0]["text"] += "<object object at 0x7f3a2c1b5e80>"


@rule
def cells_have_ids(notebook):
    ids = [cell.get("id") for cell in notebook["cells"]]
    complaints = [] if all(ids) and len(set(ids)) == len(ids) else ["cell ids are missing or repeated"]
    if (notebook["nbformat"], notebook["nbformat_minor"]) < (4, 5):
        complaints.append("nbformat is older than 4.5")
    return complaints


@fault("cells_have_ids")
def _(notebook):
    del notebook["cells"][0]["id"]


@fault("cells_have_ids")
def _(notebook):
    notebook["cells"][0]["id"] = notebook["cells"][1]["id"]


@rule
def code_is_plain_python(notebook):
    """No magics and no shell lines: the solutions' test runs the cells without a kernel."""
    complaints = []
    for cell in code_cells(notebook):
        try:
            ast.parse(cell["source"])
        except SyntaxError as error:
            complaints.append(f"cell {first_line(cell)}: {error.msg}")
        if not cell["source"].strip():
            complaints.append("an empty code cell")
    return complaints


@fault("code_is_plain_python")
def _(notebook):
    code_cells(notebook)[0]["source"] = "%matplotlib inline"


@fault("code_is_plain_python")
def _(notebook):
    code_cells(notebook)[0]["source"] = ""


@rule
def installs_nothing(notebook):
    """A pip line on Colab may replace torch and CUDA: gigabytes."""
    return [f"cell {first_line(cell)} mentions pip install" for cell in notebook["cells"]
            if re.search(r"pip3?\s+install", cell["source"])]


@fault("installs_nothing")
def _(notebook):
    code_cells(notebook)[0]["source"] = "import os\nos.system('pip install torch')"


@rule
def imports_what_every_host_has(notebook):
    allowed = {"ffn_helpers", "figures", "model_costs", "torch", "numpy", "matplotlib", "ipywidgets", "IPython"}
    return [f"imports {name}" for cell in code_cells(notebook)
            for name in imported(cell["source"]) - allowed - set(sys.stdlib_module_names)]


@fault("imports_what_every_host_has")
def _(notebook):
    code_cells(notebook)[0]["source"] = "import pandas as pd"


@rule
def code_is_narrow(notebook):
    return [f"a line of {len(line)} characters, at most {WIDEST}: {line.strip()[:60]}"
            for cell in notebook["cells"]
            for code in ([cell["source"]] if cell["cell_type"] == "code" else re.findall(r"(?ms)^```python\n(.*?)^```", cell["source"]))
            for line in code.splitlines() if len(line) > WIDEST]


@fault("code_is_narrow")
def _(notebook):
    code_cells(notebook)[0]["source"] += "\n# " + "x" * 119


@fault("code_is_narrow")
def _(notebook):
    notebook["cells"][0]["source"] += f"\n\n```python\n{'x' * 121}\n```"


@rule
def quotes_are_typographic(notebook):
    prose = [quoted for cell in markdown_cells(notebook) for quoted in straight_quotes(cell["source"])]
    # What Python or torch prints may quote: 'NoneType' object, ["it's"], "addmm_impl_cpu_".
    printed = re.findall(r""".{,12}(?:[a-zA-Z]'(?:s|t|re|ve|ll|d)\b|"[a-zA-Z][a-zA-Z ,.-]*").{,12}""",
                         "\n".join(output["text"] for output in outputs(notebook)))
    return [f"a straight quote where “ ” or ’ belongs: {quoted!r}" for quoted in prose + printed]


@fault("quotes_are_typographic")
def _(notebook):
    notebook["cells"][0]["source"] += "\n\nThe documents' word."


@fault("quotes_are_typographic")
def _(notebook):
    notebook["cells"][0]["source"] += '\n\nA "bottleneck".'


@fault("quotes_are_typographic")
def _(notebook):
    code_cells(notebook)[0]["outputs"][0]["text"] = "the FFN's share"


@fault("quotes_are_typographic")
def _(notebook):
    code_cells(notebook)[0]["outputs"][0]["text"] = "no column can't be cut"


@fault("quotes_are_typographic")
def _(notebook):
    code_cells(notebook)[0]["outputs"][0]["text"] = 'an "inverted bottleneck"'


def chancy_fits(source):
    """Calls of torch's lstsq by its default driver: where a unit is off on all tokens, a column of zeros, its answer hangs on
    where in memory the matrix lies, and differs from run to run. NumPy's lstsq and pinv go by singular values, as "gelsd" does."""
    return [ast.unparse(node) for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("linalg.lstsq") and not ast.unparse(node.func).startswith("np.")
            and not any(word.arg == "driver" and ast.unparse(word.value) == "'gelsd'" for word in node.keywords)]


@rule
def fits_do_not_hang_on_memory(notebook):
    return [f"by the default driver: {call}" for cell in code_cells(notebook) for call in chancy_fits(cell["source"])]


@fault("fits_do_not_hang_on_memory")
def _(notebook):
    code_cells(notebook)[0]["source"] += "\nW2 = torch.linalg.lstsq(h, y).solution"


@pytest.mark.parametrize("path", sorted((ROOT / "figures").glob("*.py")), ids=lambda path: path.stem)
def test_fits_of_pictures_do_not_hang_on_memory(path):
    assert chancy_fits(path.read_text(encoding="utf-8")) == []


@rule
def cells_are_short(notebook):
    complaints = [f"cell {first_line(cell)} has {lines} lines; at most {LONGEST}" for cell in code_cells(notebook)
                  if (lines := sum(bool(line.strip()) for line in cell["source"].splitlines())) > LONGEST
                  and "long-lesson" not in cell["metadata"].get("tags", [])]
    statements = [sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(cell["source"]))) for cell in code_cells(notebook)]
    if statements and statistics.median(statements) > MEDIAN:
        complaints.append(f"the median code cell has {statistics.median(statements)} statements; at most {MEDIAN}")
    return complaints


@fault("cells_are_short")
def _(notebook):
    code_cells(notebook)[0]["source"] = "x = 1\n" * 16


@fault("cells_are_short")
def _(notebook):
    for cell in code_cells(notebook):
        cell["source"] = "x = 1\n" * 7


def compares(holds, tree):
    """Does it compare something that was computed? A bare name stands for what its cell, `tree`, assigns to it."""
    if isinstance(holds, ast.Name):
        return any(compares(node.value, tree) for node in ast.walk(tree) if isinstance(node, ast.Assign)
                   and not isinstance(node.value, ast.Name) and ast.unparse(node.targets[0]) == holds.id)
    return any((isinstance(node, ast.Compare) or isinstance(node, ast.Call) and re.search(r"\b(?:equal|allclose)$", ast.unparse(node.func)))
               and any(isinstance(part, ast.Name) for part in ast.walk(node)) for node in ast.walk(holds))


@rule
def verdicts_compare(notebook):
    """What settles a claim is a comparison; a bare constant settles nothing."""
    complaints = []
    for tree in (ast.parse(cell["source"]) for cell in code_cells(notebook)):
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "fh.verdict":
                given = dict(zip(("claim", "word", "holds", "text"), call.args)) | {word.arg: word.value for word in call.keywords}
                if not compares(given["holds"], tree):
                    complaints.append(f"{ast.unparse(given['claim'])} is settled by {ast.unparse(given['holds'])}")
    return complaints


@fault("verdicts_compare")
def _(notebook):
    code_cells(notebook)[0]["source"] = 'fh.verdict("C003", "true", True, "x")'


@fault("verdicts_compare")
def _(notebook):
    code_cells(notebook)[0]["source"] = 'fh.verdict("C003", "true", bool(1), "x")'


@fault("verdicts_compare")
def _(notebook):
    code_cells(notebook)[0]["source"] = 'fh.verdict("C003", "true", 1 < 2, "x")'


@fault("verdicts_compare")
def _(notebook):
    code_cells(notebook)[0]["source"] = 'holds = True\nfh.verdict("C003", "true", holds, "x")'


@fault("verdicts_compare")
def _(notebook):
    code_cells(notebook)[0]["source"] = 'fh.verdict("C003", "true", text=f"{y > 0}", holds=True)'


@rule
def has_the_right_size(notebook):
    fewest, most = (10 if notebook["name"].startswith("00") else 20), 55
    count, size = len(notebook["cells"]), len(json.dumps(notebook, ensure_ascii=False).encode())
    complaints = [] if fewest <= count <= most else [f"{count} cells; {fewest} to {most}"]
    return complaints + ([f"{size:,} bytes; at most {LARGEST:,}"] if size > LARGEST else [])


@fault("has_the_right_size")
def _(notebook):
    del notebook["cells"][19:]


@fault("has_the_right_size")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += "x" * LARGEST


@rule
def words_are_plain(notebook):
    return [f"{word!r} in {first_line(cell)}" for cell in markdown_cells(notebook)
            for word in re.findall(r"(?i)\b(?:simply|obviously|powerful)\b", cell["source"])]


@fault("words_are_plain")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += " Simply add."


@rule
def no_text_needs_a_hue(notebook):
    """A word for a hue tells nothing to who does not see it: say up, hatched, square."""
    return [f"{word!r} in {first_line(cell)}" for cell in markdown_cells(notebook) for word in HUES.findall(cell["source"])]


@fault("no_text_needs_a_hue")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += " See the orange bars."


@rule
def local_links_lead_somewhere(notebook):
    complaints = []
    for cell in markdown_cells(notebook):
        targets = re.findall(r"\]\(([^)\s]+)[^)]*\)", cell["source"])
        targets += re.findall(r"""(?:href|src)=["']([^"']+)""", cell["source"])
        for target in targets:
            file = unquote(target.partition("#")[0])
            if file and not re.match(r"[a-z]+:", file) and not (ROOT / "notebooks" / file).exists():
                complaints.append(f"a link to {target}")
    return complaints


@fault("local_links_lead_somewhere")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += " [next](99_nowhere.ipynb)"


@fault("local_links_lead_somewhere")
def _(notebook):
    markdown_cells(notebook)[0]["source"] += ' <img alt="a" src="../figures/nowhere.png">'


def hosted(text):
    """What the links to Colab and Binder in a piece of Markdown open, as (host, path in the repository)."""
    return re.findall(r"\(https://(colab|mybinder)\.[^)]*?/main[/?](?:urlpath=lab/tree/)?([^)]*)\)", text)


def both_hosts(name):
    return [("colab", f"notebooks/{name}"), ("mybinder", f"notebooks/{name}")]


@rule
def the_head_opens_this_notebook(notebook):
    links = hosted(notebook["cells"][0]["source"])
    return [] if links == both_hosts(notebook["name"]) else [f"the first cell's links open {links}"]


@fault("the_head_opens_this_notebook")
def _(notebook):
    notebook["name"] = "y.ipynb"


@fault("the_head_opens_this_notebook")
def _(notebook):
    notebook["cells"][0]["source"] = notebook["cells"][0]["source"].replace("lab/tree/notebooks/x", "lab/tree/notebooks/y")


@rule
def the_end_leads_to_the_next_notebook(notebook):
    links = re.findall(r"^Next: \[(\d\d) · .*\]\((.*)\)$", notebook["cells"][-1]["source"], re.M)
    later = [(path.name[:2], path.name) for path in NOTEBOOKS if path.name > notebook["name"]]
    return [] if links == later[:1] else [f"the last cell leads to {links}"]


@fault("the_end_leads_to_the_next_notebook")
def _(notebook):
    notebook["cells"][-1]["source"] += f"\n\nNext: [00 · Again]({NOTEBOOKS[0].name})"


@fault("the_end_leads_to_the_next_notebook")
def _(notebook):
    notebook["name"] = NOTEBOOKS[0].name


# ---------------------------------------------------------------- the notebooks against the rules

@every_notebook
@pytest.mark.parametrize("name", RULES)
def test_notebook(path, name):
    complaints = RULES[name](read(path.read_text(encoding="utf-8"), path.name))
    assert not complaints, f"{path.name}: " + "; ".join(complaints)


@pytest.mark.parametrize("place", ["README.md", "CONTRIBUTING.md"])
def test_pictures_of_the_front_pages_have_alt_text(place):
    assert [fault for alt in alt_texts((ROOT / place).read_text(encoding="utf-8")) for fault in alt_faults(alt)] == []


def test_the_readmes_picture_is_described_by_its_own_numbers():
    """In other words than the picture's, which a reader meets later; the numbers are the same, in the same order."""
    numbers = lambda text: re.findall(r"\[[^\]]+\]|−?\d+(?:\.\d+)?", text)
    (name, alt), = [(name, alt) for alt, name in re.findall(r"!\[(.*)\]\(figures/(\w+)\.png\)", (ROOT / "README.md").read_text(encoding="utf-8"))]
    said, own = numbers(alt), numbers(importlib.import_module(f"figures.{name}").default().alt)
    assert len(said) >= 3 and own[:len(said)] == said


def test_notebooks_are_found_and_go_through_strict_nbval(request):
    assert [path.name[:2] for path in NOTEBOOKS] == [f"{number:02}" for number in range(9)]
    assert "notebooks" in request.config.getini("testpaths")
    assert request.config.option.nbval and not request.config.option.nbval_lax


def test_only_pixels_are_sanitized():
    """What nbval replaces before it compares: PNG data, and nothing that a reader reads."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "tests" / "sanitize.cfg", encoding="utf-8")
    text = '<img alt="z = [5, 2, 0]" src="data:image/png;base64,iVBORw0KGgo=">\nC016 true: y = 3.5 at 0x7f3a2c1b, 12:30:05\n'
    for section in config.sections():
        text = re.sub(config[section]["regex"], config[section]["replace"], text)
    assert text == '<img alt="z = [5, 2, 0]" src="PICTURE">\nC016 true: y = 3.5 at 0x7f3a2c1b, 12:30:05\n'


@every_notebook
def test_nbval_sees_every_code_cell(path, request):
    seen = list(IPyNbFile.from_parent(request.session, path=path).collect())
    assert len(seen) == len(code_cells(read(path.read_text(encoding="utf-8"))))
    assert all(cell.options["check"] and not cell.options["skip"] for cell in seen)


@every_notebook
def test_file_is_as_refresh_writes_it(path):
    """The same JSON layout from every hand, so that a diff shows what changed."""
    text = path.read_text(encoding="utf-8")
    assert text == tool.dumps(tool.normalise(tool.nbformat.reads(text, as_version=4))), "course.py refresh settles it"


# ---------------------------------------------------------------- the rules against faults

def good_notebook():
    """20 cells that break no rule: text, a printed line, a picture."""
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(80)).decode()
    cells = [{"cell_type": "markdown", "id": f"m{i}", "metadata": {}, "source": "Two and two."} for i in range(18)]
    cells[0]["source"] += (" [Colab](https://colab.research.google.com/github/a/b/blob/main/notebooks/x.ipynb)"
                           " [Binder](https://mybinder.org/v2/gh/a/b/main?urlpath=lab/tree/notebooks/x.ipynb)")
    printed = {"output_type": "stream", "name": "stdout", "text": "4\n"}
    picture = {"output_type": "display_data", "metadata": {},
               "data": {"text/html": f'<img alt="4 dots." src="data:image/png;base64,{png}">', "text/plain": "Four dots."}}
    for number, output in enumerate([printed, picture], 1):
        cells.append({"cell_type": "code", "id": f"c{number}", "metadata": {}, "source": "print(2 + 2)",
                      "execution_count": number, "outputs": [output]})
    return read(json.dumps({"cells": cells, "metadata": copy.deepcopy(tool.NOTEBOOK_METADATA),
                            "nbformat": 4, "nbformat_minor": 5}))


def test_a_good_notebook_passes_every_rule():
    assert {name: check(good_notebook()) for name, check in RULES.items()} == {name: [] for name in RULES}


def test_every_rule_has_a_fault():
    assert set(FAULTS) == set(RULES)


@pytest.mark.parametrize("name, number", [(name, i) for name in FAULTS for i in range(len(FAULTS[name]))])
def test_rule_bites(name, number):
    broken = good_notebook()
    FAULTS[name][number](broken)
    assert RULES[name](broken)


# ---------------------------------------------------------------- imports run downward only

def imported(source):
    """The top-level packages that a piece of Python imports."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return set()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("figures" if node.level else node.module.partition(".")[0])
    return found


def layer_faults(name, source):
    """What a picture, the helper or a module below imports and should not; `name` is relative to the root."""
    allowed = {"numpy", "matplotlib", "torch"} | set(sys.stdlib_module_names)
    if name == "model_costs.py":  # plain arithmetic
        allowed = set(sys.stdlib_module_names)
    elif name == "ffn_helpers.py":
        allowed |= {"ipywidgets", "PIL", "svg_layer", "inputs"}
    elif name == "inputs.py":
        allowed |= {"svg_layer"}
    elif name != "svg_layer.py":  # the cellar stands on matplotlib alone
        allowed |= {"ffn_helpers", "model_costs"}
        if name in ("figures/__init__.py", "figures/__main__.py"):  # these two gather the pictures
            allowed |= {"figures"}
    complaints = [f"imports {package}" for package in imported(source) - allowed]
    return complaints + (["uses pyplot"] if re.search(r"\bpyplot\b|\bpylab\b", code_only(source)) else [])


def code_only(source):
    """The source without comments and docstrings, which may name what the code must not use."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    return ast.unparse(tree)


LAYERED = [ROOT / "svg_layer.py", ROOT / "inputs.py", ROOT / "model_costs.py", ROOT / "ffn_helpers.py", *sorted((ROOT / "figures").glob("*.py"))]


@pytest.mark.parametrize("path", LAYERED, ids=lambda path: path.stem)
def test_imports_run_downward(path):
    assert not layer_faults(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def test_the_helper_stays_small():
    lines = (ROOT / "ffn_helpers.py").read_text(encoding="utf-8").splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 600


@pytest.mark.parametrize("name, source", [
    ("svg_layer.py", "import ffn_helpers"),
    ("svg_layer.py", "import model_costs"),
    ("svg_layer.py", "import inputs"),
    ("inputs.py", "import ffn_helpers"),
    ("model_costs.py", "import numpy"),
    ("model_costs.py", "import ffn_helpers"),
    ("ffn_helpers.py", "import model_costs"),
    ("ffn_helpers.py", "import figures"),
    ("ffn_helpers.py", "from figures.hand_worked import HandWorked"),
    ("ffn_helpers.py", "def late():\n    import matplotlib.pyplot as plt"),
    ("figures/a.py", "from figures import b"),
    ("figures/a.py", "from . import b"),
    ("figures/a.py", "import ipywidgets"),
    ("figures/a.py", "from matplotlib import pyplot"),
])
def test_the_import_rule_bites(name, source):
    assert layer_faults(name, source)


def test_the_import_rule_lets_good_files_pass():
    assert not layer_faults("figures/a.py", '"""No pyplot."""\nimport math\nimport ffn_helpers as fh\nimport model_costs\nimport torch')
    assert not layer_faults("model_costs.py", "import csv\nimport pathlib")
    assert not layer_faults("figures/__main__.py", "from figures import a")


# ---------------------------------------------------------------- the tables of notebooks

def minutes(text):
    """{notebook's number: minutes} of a table whose rows link to notebooks."""
    return dict(re.findall(r"^\| \[(\d\d)[^|]*\|[^|]*\| (\d+) \|", text, re.M))


@pytest.mark.parametrize("place", ["README.md", "notebooks/00_start_here.ipynb"])
def test_tables_list_every_notebook_with_its_minutes(place):
    text = (ROOT / place).read_text(encoding="utf-8")
    if place.endswith(".ipynb"):
        text = "\n".join(cell["source"] for cell in read(text, place)["cells"])
    heads = {path.name[:2]: read(path.read_text(encoding="utf-8"), path.name)["cells"][0]["source"] for path in NOTEBOOKS}
    own = {number: re.search(r"About (\d+) minutes", head).group(1) for number, head in heads.items()}
    if not place.startswith("README"):
        own.pop("00")
    assert minutes(text) == own


def test_each_row_of_the_readme_opens_its_own_notebook():
    rows = re.findall(r"^\| \[.*?\]\(notebooks/(.*?)\)(.*)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert [name for name, _ in rows] == [path.name for path in NOTEBOOKS]
    assert [hosted(rest) for _, rest in rows] == [both_hosts(name) for name, _ in rows]


# ---------------------------------------------------------------- files are read the same on every machine

def opens_text(call):
    """Is it `open(file)` or `path.open()` with a mode of text? Others that are called open, as PIL's, get what is no mode."""
    function = isinstance(call.func, ast.Name)
    mode = [word.value for word in call.keywords if word.arg == "mode"] + call.args[function:function + 1]
    return not mode or isinstance(mode[0], ast.Constant) and bool(re.fullmatch("[rwaxt+]+", str(mode[0].value)))


def without_encoding(source):
    """Calls that open a text file in whatever encoding the reader's machine has: their lines."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = {keyword.arg for keyword in node.keywords}
            opens = name in ("read_text", "write_text") or name == "open" and opens_text(node)
            speaks = name in ("run", "Popen", "check_output") and given & {"text", "universal_newlines"}
            if (opens or speaks) and "encoding" not in given:
                found.append(node.lineno)
    return found


PYTHON = sorted(path for folder in (".", "figures", "tests", "tests/browser", "tools", "tools/pages", "benchmarks", "docs") for path in (ROOT / folder).glob("*.py"))


@pytest.mark.parametrize("path", [*PYTHON, *NOTEBOOKS], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_text_files_are_opened_with_an_encoding(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":            # all but the cells that show an error
        text = "\n".join(cell["source"] for cell in read(text, path.name)["cells"]
                         if cell["cell_type"] == "code" and "raises-exception" not in cell["metadata"].get("tags", []))
    assert not without_encoding(text)


@pytest.mark.parametrize("source, faults", [
    ("open('a')", 1), ("open('a', 'w')", 1), ("p.read_text()", 1), ("p.write_text('a')", 1), ("subprocess.run(x, text=True)", 1),
    ("p.open()", 1), ("p.open('w')", 1), ("p.open(mode='a')", 1), ("p.open('rb')", 0), ("open('a', mode='rb')", 0), ("p.open('w', encoding='utf-8')", 0),
    ("open('a', 'rb')", 0), ("open('a', encoding='utf-8')", 0), ("p.read_bytes()", 0), ("urllib.request.urlopen(u)", 0), ("Image.open(b)", 0)])
def test_the_encoding_rule_bites(source, faults):
    assert len(without_encoding(source)) == faults
