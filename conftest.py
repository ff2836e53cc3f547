"""What every run of pytest here has in common: an old processor's sums, the inputs that hypothesis draws, the stored
pictures' pixels, the order of the files, and a last line that says what was left out.

nbval compares text and ignores pixels, so a notebook with another picture in it would pass. The
wrapper below compares each stored picture with the one that the same run has just drawn.
"""
import base64
import io
import os
import re
from importlib.metadata import version
from pathlib import Path

# For NumPy here, torch, and every kernel, so before they are imported.
# Notebooks are refreshed with all that a processor can do and tested with its oldest instructions: sums then
# round elsewhere, and a printed digit or a drawn dot that hangs on the last bit differs here, not on a reader's machine.
OLD_PROCESSOR = {"ATEN_CPU_CAPABILITY": "default", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "OPENBLAS_CORETYPE": "Nehalem"}
# Small matrices: threads that wait for each other beside another worker take twenty times longer.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
for name, value in {**OLD_PROCESSOR, **ONE_THREAD}.items():
    os.environ.setdefault(name, value)

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from nbval.plugin import IPyNbCell
from PIL import Image

ROOT = Path(__file__).resolve().parent
# The same inputs every time, except in a long run: --hypothesis-profile=long draws new ones, 50 times as many.
settings.register_profile("short", max_examples=16, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("long", settings.get_profile("short"), max_examples=800, derandomize=False, print_blob=True)
settings.load_profile("short")
# Things that a reader does to each explorer, and how many in a long run.
WALK, LONG_WALK = int(os.environ.get("WALK", 10)), 300
# Root mean square over a tile of 16 x 16 pixels, of 255. A lost decimal point gives over 20, equal code 0.
TILE, TOLERANCE = 16, 8
DATA_URI = re.compile(r"data:image/png;base64,([A-Za-z0-9+/=\s]+)")
PINNED = re.search(r"^matplotlib==(\S+)", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M).group(1)
# Every matplotlib moves text by a little, which pixels show more strongly than any real fault.
PIXELS_HOLD = version("matplotlib") == PINNED
NO_PIXELS = f"pixels hold at matplotlib {PINNED} only; here is {version('matplotlib')}"


def pictures(outputs):
    """The PNGs embedded in a cell's outputs, as bytes."""
    return [base64.b64decode(data) for output in outputs
            for data in DATA_URI.findall("".join(output.get("data", {}).get("text/html", "")))]


def difference(stored, drawn):
    """Root mean square difference of two PNGs in the tile where it is largest, of 255; infinite when their sizes differ."""
    if stored == drawn:
        return 0.0
    a, b = (np.asarray(Image.open(io.BytesIO(png)).convert("RGBA"), dtype=float) for png in (stored, drawn))
    if a.shape != b.shape:
        return float("inf")
    rows, columns = (range(0, size, TILE) for size in a.shape[:2])
    sums = np.add.reduceat(np.add.reduceat(((a - b) ** 2).sum(axis=2), rows, axis=0), columns, axis=1)
    return float(np.sqrt(sums.max() / (4 * TILE ** 2)))


compare_text = IPyNbCell.compare_outputs


def compare_text_and_pixels(cell, drawn, stored, skip_compare=None):
    if not compare_text(cell, drawn, stored, skip_compare):
        return False
    if PIXELS_HOLD:
        for number, pair in enumerate(zip(pictures(stored), pictures(drawn)), 1):
            if difference(*pair) > TOLERANCE:
                cell.comparison_traceback.append(
                    f"picture {number} of this cell differs by {difference(*pair):.2f} of 255 "
                    f"(tolerance {TOLERANCE}): look at it, then `course.py refresh`")
                return False
    return True


IPyNbCell.compare_outputs = compare_text_and_pixels


def pytest_collection_modifyitems(items):
    """The longest files first, so that no worker ends alone: those that run every notebook, then the late notebooks."""
    def order(item):
        if item.path.suffix == ".ipynb":
            return 1, [-ord(letter) for letter in item.path.name[:2]]
        return -1 if item.path.parent.name == "browser" else 0 if item.path.name in ("test_solutions.py", "test_explorers.py") else 2, []

    items.sort(key=order)  # stable: within a file nothing moves
    if not PIXELS_HOLD:
        for item in items:
            if item.get_closest_marker("pixels"):
                item.add_marker(pytest.mark.skip(reason=NO_PIXELS))


def pytest_terminal_summary(terminalreporter):
    inputs, all_inputs = settings().max_examples, settings.get_profile("long").max_examples
    browsed = any(report.nodeid.startswith("tests/browser/") for report in terminalreporter.stats.get("passed", []))
    short = [f"{left} ({how})" for left, how, is_short in [
        ("axe-core in all but two notebooks and on their pages, names in all but each notebook's first explorer, a window of 800 pixels", "EVERY_READER=1",
         browsed and not os.environ.get("EVERY_READER")),
        (f"{all_inputs - inputs} of {all_inputs} inputs of each property test", "--hypothesis-profile=long", inputs < all_inputs),
        (f"{LONG_WALK - WALK} of {LONG_WALK} events at each explorer", f"WALK={LONG_WALK}", WALK < LONG_WALK)] if is_short]
    if short:
        terminalreporter.write_line("Left to the weekly run: " + "; ".join(short))
    if not PIXELS_HOLD:
        terminalreporter.write_line("Pictures stored in notebooks were not compared: " + NO_PIXELS)
