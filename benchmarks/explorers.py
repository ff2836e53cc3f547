"""What an explorer costs, against `interact` with a new figure each time: the wiring that courses use.

    .venv/bin/python benchmarks/explorers.py             kernel: CPU time, bytes, memory
    .venv/bin/python benchmarks/explorers.py --browser   also in JupyterLab, where there is a slider: paint, updates a second
    .venv/bin/python benchmarks/explorers.py --floor     also imports and notebooks against their floor

Both wirings draw the same picture at two image pixels to a CSS pixel, in one run, turn by turn. Read the
ratios: milliseconds belong to one machine and one hour.
"""
import argparse
import gc
import io
import itertools
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import matplotlib
import numpy as np
import psutil

import ffn_helpers as fh
from tests.test_explorers import COUNTS, explorers

ROUNDS = 40


def states(explorer):
    """Endless changes of one control after the other: (control, value)."""
    numbers = [entry for entry in explorer.entries.values() if hasattr(entry, "slider")]
    picks = [entry for entry in explorer.entries.values() if not hasattr(entry, "slider")]
    for step in itertools.count(1):
        for entry in numbers:
            low, high, size, log = entry.spec
            steps = math.floor(math.log2(high / low)) if log else round((high - low) / size)
            at = 7 * step % (steps + 1)
            yield entry.slider, low * 2 ** at if log else low + size * at
        for entry in picks:
            options = [value for _, value in entry.picker.options] if hasattr(entry.picker, "options") else [False, True]
            yield entry.picker, options[step % len(options)]


def new_figure(picture):
    """One redraw of the usual wiring: build the figure anew and encode it."""
    with matplotlib.rc_context(fh.STYLE):
        type(picture)(**picture.values).figure.savefig(io.BytesIO(), dpi=200, format="png")


def cpu(function, *args):
    began = time.process_time()
    function(*args)
    return time.process_time() - began


def kernel(path, number, explorer):
    """CPU milliseconds of both wirings, kilobytes of an update, megabytes grown over 500 updates."""
    ours, usual, sizes, changes = [], [], [], states(explorer)
    for _ in range(5):
        setattr(*_named(next(changes)))
    for _ in range(ROUNDS):
        before = explorer.live.value
        while explorer.live.value == before:
            spent = cpu(setattr, *_named(next(changes)))
        ours.append(spent)
        sizes.append(len(explorer.live.value))
        usual.append(cpu(new_figure, explorer.picture))
    gc.collect()
    memory = psutil.Process().memory_info().rss
    for change in itertools.islice(changes, 500):
        setattr(*_named(change))
    gc.collect()
    grown = (psutil.Process().memory_info().rss - memory) / 1e6
    a, b = statistics.median(usual) * 1e3, statistics.median(ours) * 1e3
    return f"| {path.stem[:2]}-{number + 1} {type(explorer.picture).__name__} | {a:.0f} | {b:.1f} | **{a / b:.1f}** " \
           f"| {np.median(sizes) / 1e3:.0f} | {grown:+.1f} |"


def _named(change):
    widget, value = change
    return widget, "value", value


CELL = """
import io, itertools, sys
sys.path.insert(0, {root!r})
import ipywidgets as widgets, matplotlib
from IPython.display import Image, display
import ffn_helpers as fh
from tests.test_explorers import explorers
import pathlib
explorer = explorers(pathlib.Path({path!r}))[{number}]
name, entry = next((n, e) for n, e in explorer.entries.items() if hasattr(e, "slider"))
explorer
"""
USUAL = """
def draw(value):
    picture = explorer.picture
    new = np.array(picture.values[entry.name], float) if entry.index else value
    if entry.index:
        new[entry.index] = value
    buffer = io.BytesIO()
    with matplotlib.rc_context(fh.STYLE):
        type(picture)(**{**picture.values, entry.name: new}).figure.savefig(buffer, dpi=200, format="png")
    display(Image(buffer.getvalue(), width=picture.size[0]))

import numpy as np
low, high, step = entry.spec[:3]
both = widgets.interactive(draw, value=widgets.FloatSlider(entry.slider.value, min=low, max=high, step=step))
both.add_class("usual")
both
"""
# From key press to the end of the first frame that shows another picture: a message posted in a frame's callback
# arrives when that frame is painted. An image is shown once it is decoded.
PAINT = """([area, handle, key]) => new Promise(done => {
    const shown = () => area.querySelector('.ffn-live')?.innerHTML ?? area.querySelector('img')?.src;
    const before = shown(), began = performance.now(), painted = new MessageChannel();
    painted.port1.onmessage = () => done(performance.now() - began);
    handle.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
    const frame = () => requestAnimationFrame(() => painted.port2.postMessage(0));
    const change = new MutationObserver(async () => {
        if (!shown() || shown() === before) return;
        change.disconnect();
        await area.querySelector('img')?.decode();
        frame() });
    change.observe(area, {subtree: true, childList: true, attributes: true});
    setTimeout(() => done(NaN), 5000) })"""
# Updates a second while the key is held.
RATE = """([area, handle, keys]) => new Promise(done => {
    const shown = () => area.querySelector('.ffn-live')?.innerHTML ?? area.querySelector('img')?.src;
    let before = shown(), seen = 0, turn = 0; const began = performance.now();
    const press = setInterval(() => { turn += 1;
        handle.dispatchEvent(new KeyboardEvent('keydown', {key: keys[turn % 16 < 8 ? 0 : 1], bubbles: true})) }, 33);
    const look = () => { if (shown() && shown() !== before) { before = shown(); seen += 1 }
        if (performance.now() - began < 4000) return requestAnimationFrame(look);
        clearInterval(press); done(seen / 4) };
    look() })"""


def browser(chosen):
    """Paint and rate of both wirings in JupyterLab, for the chosen (path, number)."""
    import nbformat
    from playwright.sync_api import sync_playwright

    from tests.browser.lab import CHROMIUM, FLAGS, Lab, Notebook
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        lab = Lab(pathlib.Path(folder))
        try:
            chrome = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            for path, number in chosen:
                notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
                notebook.cells = [nbformat.v4.new_code_cell(source) for source in
                                  (CELL.format(root=str(ROOT), path=str(path), number=number), USUAL)]
                nbformat.write(notebook, lab.root / "notebooks" / "benchmark.ipynb")
                page = chrome.new_page(viewport={"width": 1280, "height": 1600})
                opened = Notebook(page, lab, "notebooks/benchmark.ipynb")
                assert opened.run_all() == []
                figures = {}
                for area in (".ffn-explorer", ".usual"):
                    element = page.locator(area).first
                    element.scroll_into_view_if_needed()
                    handle = element.get_by_role("slider").first
                    handle.focus()
                    arguments = [element.element_handle(), handle.element_handle()]
                    paints = []
                    for key in (["ArrowRight"] * 2 + ["ArrowLeft"] * 2) * 6:
                        page.wait_for_timeout(200)      # a hand that looks before it presses again; RATE holds the key
                        paints.append(page.evaluate(PAINT, arguments + [key]))
                    rate = page.evaluate(RATE, arguments + [["ArrowRight", "ArrowLeft"]])
                    figures[area] = np.nanmedian(paints), rate
                (a, slow), (b, fast) = figures[".usual"], figures[".ffn-explorer"]
                print(f"| {path.stem[:2]}-{number + 1} | {a:.0f} | {b:.0f} | **{a / b:.1f}** | {slow:.1f} | {fast:.1f} |", flush=True)
                opened.shut_down()
                page.close()
        finally:
            lab.close()


def seconds(code, times=7):
    """The least CPU time of a fresh Python that runs `code`, of several."""
    program = f"{code}\nimport time; print(time.process_time())"
    run = lambda: float(subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, encoding="utf-8",
                                       check=True).stdout)
    return min(run() for _ in range(times))


def floor():
    """Importing the helper, and running each notebook, against what nobody can avoid."""
    from nbformat import read, v4

    from tools.notebooks import execute
    alone = "import numpy, torch, ipywidgets; from matplotlib.figure import Figure; from matplotlib.backends import backend_agg"
    bare, helper = seconds(alone), seconds("import ffn_helpers")
    print(f"\nImport of ffn_helpers: {helper / bare:.2f} times that of torch, matplotlib and ipywidgets alone (CPU)\n")
    print("| notebook | seconds | times the floor |\n|---|---|---|")
    empty = v4.new_notebook(cells=[v4.new_code_cell(alone)])
    wall = lambda notebook: _wall(execute, notebook, ROOT / "notebooks")
    totals = []
    for path in COUNTS:
        least = min(wall(empty) for _ in range(2))
        took = min(wall(read(path, 4)) for _ in range(2))
        totals.append((least, took))
        print(f"| {path.stem} | {took:.1f} | {took / least:.2f} |", flush=True)
    print(f"| all | {sum(t for _, t in totals):.1f} | **{sum(t for _, t in totals) / sum(l for l, _ in totals):.2f}** |")


def _wall(function, *args):
    began = time.monotonic()
    function(*args)
    return time.monotonic() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("--only", nargs="*", default=[], help="notebooks, by the beginning of their names")
    options = parser.parse_args()
    print("| explorer | new figure, CPU ms | ours, CPU ms | times faster | kB | MB over 500 |\n|---|---|---|---|---|---|")
    chosen = [path for path in COUNTS if not options.only or path.name.startswith(tuple(options.only))]
    for path in chosen:
        for number, explorer in enumerate(explorers(path) if COUNTS[path] else []):
            print(kernel(path, number, explorer), flush=True)
    if options.browser:
        print("\n| explorer | new figure, paint ms | ours, paint ms | times faster | new figure, a second | ours |\n|---|---|---|---|---|---|")
        browser([(path, number) for path in chosen for number in range(COUNTS[path])
                 if any(hasattr(entry, "slider") for entry in explorers(path)[number].entries.values())])
    if options.floor:
        floor()
