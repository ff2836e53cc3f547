"""Does the regression bite? Break the course on purpose, one fault at a time, and see each one caught.

    python tools/faults.py            all of them, in some minutes
    python tools/faults.py reset alt  those with "reset" or "alt" in their name

Works on copies in a temporary folder: of what git tracks or would track, with uncommitted changes. First every
selection of tests runs on the unbroken copy and must pass; then each fault is applied and its selection must
fail. Ends with `N of N caught`, and with exit code 1 otherwise.
"""
import argparse
import io
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "02_one_token_by_hand"
NOTEBOOK = f"notebooks/{NAME}.ipynb"
OTHER = "04_one_network_for_every_token"
HELPERS, INPUTS, LAYER, FIGURE = "ffn_helpers.py", "inputs.py", "svg_layer.py", "figures/hand_worked.py"
NETWORKS, SVG, HELPER_TESTS = (f"tests/test_{name}.py::test_" for name in ("networks", "svg_layer", "helpers"))
PAGES = "tests/browser/test_site_in_chromium.py::test_"
WIDGET_STATE = {"application/vnd.jupyter.widget-state+json": {"state": {}, "version_major": 2, "version_minor": 0}}


class NotApplied(Exception):
    """The text that a fault replaces is no longer there: the list below needs an update."""


def replaced(old, new):
    """A fault that replaces the first `old` in a text file."""
    def change(content):
        text = content.decode("utf-8")
        if old not in text or old == new:
            raise NotApplied(f"{old!r} is not in the file")
        return text.replace(old, new, 1).encode("utf-8")
    return change


def ledger_row(claim, old, new):
    """A fault in the table's row of one claim."""
    def change(content):
        row = next((line for line in content.decode("utf-8").splitlines() if line.startswith(claim + ",")), "")
        if old not in row:
            raise NotApplied(f"{claim} has no {old!r}")
        return content.replace(row.encode("utf-8"), row.replace(old, new, 1).encode("utf-8"), 1)
    return change


def appended(more):
    return lambda content: content + more.encode("utf-8")


def in_notebook(change):
    """A fault that changes a notebook's JSON in place; `change` gets it and its code cells."""
    def changed(content):
        notebook = json.loads(content)
        change(notebook, [cell for cell in notebook["cells"] if cell["cell_type"] == "code"])
        broken = (json.dumps(notebook, ensure_ascii=False, indent=1) + "\n").encode("utf-8")
        if json.loads(broken) == json.loads(content):
            raise NotApplied("nothing to change in the notebook")
        return broken
    return changed


def in_outputs(old, new):
    """A fault in what a notebook has stored, not in its source."""
    def change(notebook, cells):
        for cell in cells:
            text = json.dumps(cell["outputs"], ensure_ascii=False)
            if old in text:
                cell["outputs"] = json.loads(text.replace(old, new, 1))
                return
        raise NotApplied(f"{old!r} is in no output")
    return in_notebook(change)


def images(cells):
    return [output["data"] for cell in cells for output in cell["outputs"] if "text/html" in output.get("data", {})]


def strip(notebook, cells):
    for cell in cells:
        cell["execution_count"], cell["outputs"] = None, []


def swap_counts(notebook, cells):
    cells[1]["execution_count"], cells[2]["execution_count"] = cells[2]["execution_count"], cells[1]["execution_count"]


def swap_pictures(notebook, cells):
    """The PNG of the second picture under the alt text of the first."""
    first, second = images(cells)[:2]
    (start, end), (_, other) = ("".join(data["text/html"]).split("base64,") for data in (first, second))
    first["text/html"] = [start + "base64," + other]


def drop_alt(notebook, cells):
    data = images(cells)[0]
    data["text/html"] = [re.sub(r'alt="[^"]*"', "", "".join(data["text/html"]))]


def add_tag(notebook, cells):
    cells[-1]["metadata"]["tags"] = ["nbval-ignore-output"]


def blot(content):
    """A published picture with one digit painted over."""
    from PIL import Image
    image, broken = Image.open(io.BytesIO(content)).convert("RGB"), io.BytesIO()
    width, height = image.size
    mine = image.crop((0, 0, width // 12, height // 20))
    image.paste(mine.transpose(Image.Transpose.FLIP_LEFT_RIGHT), (0, 0))
    image.save(broken, "png")
    return broken.getvalue()


def lint(rule, name=NAME):
    return f"tests/test_notebooks.py::test_notebook[{rule}-{name}]"


def explorer(test):
    return f"tests/test_explorers.py::test_{test}[{NAME}-1]"


def site(test, parameter=None):
    return f"tests/test_site.py::test_{test}" + ("" if parameter is None else f"[{parameter}]")


def picture(test):
    return f"tests/test_pictures.py::test_{test}[hand_worked]"


# (what is broken, in which file, how, the tests that must notice)
FAULTS = [
    # notebooks
    ("words with fewer digits than the box", FIGURE, replaced("x = {fh.vec(x, 4)} gives", "x = {fh.vec(x)} gives"), explorer("words_give_a_number_with_the_digits_of_its_box")),
    ("a weight changed in a notebook", NOTEBOOK, replaced("[2., 1., 0.]]", "[2., 1., 1.]]"), NOTEBOOK),
    ("every output stripped", NOTEBOOK, in_notebook(strip), lint("was_executed_in_order")),
    ("cells executed out of order", NOTEBOOK, in_notebook(swap_counts), lint("was_executed_in_order")),
    ("picture of another cell", NOTEBOOK, in_notebook(swap_pictures), NOTEBOOK),
    ("alt text dropped from an output", f"notebooks/{OTHER}.ipynb", in_notebook(drop_alt), lint("every_picture_has_alt_text", OTHER)),
    ("a number changed in an alt text", NOTEBOOK, in_outputs("0 of 3 units are cut", "1 of 3 units are cut"), NOTEBOOK),
    ("a number changed in an output", NOTEBOOK, in_outputs("h = [5.0, 2.0, 0.0]", "h = [5.0, 2.0, 1.0]"), NOTEBOOK),
    ("verdict word changed in an output", NOTEBOOK, in_outputs("C017 corrected", "C017 nuanced"), NOTEBOOK),
    ("stale metadata.widgets", NOTEBOOK, in_notebook(lambda nb, _: nb["metadata"].update(widgets=WIDGET_STATE)),
     lint("metadata_is_known")),
    ("a tag that lets nbval look away", NOTEBOOK, in_notebook(add_tag), lint("skips_nothing")),
    ("a wrong solution", NOTEBOOK, replaced("[6., 0., 1.]      # z", "[-6., 0., 1.]      # z"), f"tests/test_solutions.py::test_solutions[{NAME}]"),
    ("a fit that hangs on where a matrix lies", "figures/width_fit.py", replaced(', driver="gelsd"', ""),
     "tests/test_notebooks.py::test_fits_of_pictures_do_not_hang_on_memory[width_fit]"),
    ("a cell that cannot be run twice", "notebooks/07_inside_the_layer.ipynb",
     replaced("W2 = torch.nn.init.zeros_(pre.ffn.contract.weight)", "W2 = pre.ffn.contract.weight"),
     "tests/test_solutions.py::test_solutions[07_inside_the_layer]"),
    # figures
    ("wrong digit in a label", FIGURE, replaced('"3  Contract"', '"4  Contract"'), picture("structure_is_as_stored")),
    ("wrong digit, seen by pixels", FIGURE, replaced('"3  Contract"', '"8  Contract"'), picture("published_png_is_what_the_code_draws")),
    ("swapped number in a sentence", FIGURE, replaced("{cut.sum()} of 3 units", "{3 - cut.sum()} of 3 units"), picture("structure_is_as_stored")),
    ("published PNG is stale", "figures/hand_worked.png", blot, picture("published_png_is_what_the_code_draws")),
    ("hatch lost in a figure", FIGURE, replaced("height, fh.CUT, fh.WEIGHT, 0, hatch=fh.HATCH)", "height, fh.CUT, fh.WEIGHT, 0)"),
     picture("structure_is_as_stored")),
    ("colour outside the palette", FIGURE, replaced("colour=fh.WEIGHT)", 'colour="#AA0000")'), picture("colours_are_the_palettes")),
    ("a heading too long for its page", FIGURE, replaced('self.plane_name.set_text("No fold', 'self.plane_name.set_text("On each line one z is 0, on its fringed side negative" if count else "No fold'), explorer("every_control_moves_its_value_and_nothing_else")),
    ("signs of the strips exchanged", FIGURE, replaced("strip * (values > 0), 6", "strip * (values < 0), 6"),
     picture("published_png_is_what_the_code_draws")),
    ("two signs told apart by hue alone", "figures/jacobian_blocks.py",
     replaced("diamonds.append(_diamonds(x[~up], y[~up], half[~up] * 2 ** 0.5))",
              "diamonds.append(fh.rectangles((x - half)[~up], (y - half)[~up], 2 * half[~up], 2 * half[~up]))"),
     "tests/test_pictures.py::test_no_meaning_hangs_on_hue_alone"),
    ("a sign too pale for its ground", "figures/gate_surfaces.py", replaced("0.55, 0.76", "0.55, 0.9"),
     "tests/test_pictures.py::test_text_stands_out_from_its_ground[gate_surfaces]"),
    ("a caption that names a hue", "figures/kink_fit.py", replaced("Squares: bends", "Pink: bends"), "tests/test_pictures.py::test_words[kink_fit]"),
    # explorers
    ("a picture without its text in an explorer", HELPERS, replaced("draw(self.moving, self.alt)", "draw(self.moving)"), explorer("start")),
    ("a slider without a name", "explorer.js", replaced('"aria-label": row.querySelector("label").textContent + " slider",', ""),
     "tests/browser/test_accessibility.py::test_controls_of_ipywidgets_7_are_named"),
    ("a pressed button that does not say so", "explorer.js", replaced('"aria-pressed"', '"data-pressed"'),
     "tests/browser/test_accessibility.py::test_controls_of_ipywidgets_7_are_named"),
    ("a callback that raises", FIGURE, replaced("def _draw_glyph(self, z, h, activation):\n",
     'def _draw_glyph(self, z, h, activation):\n        1 / (activation != "gelu")\n'), explorer("every_control_moves_its_value_and_nothing_else")),
    ("control wired to the wrong entry", HELPERS, replaced("array[entry.index] = value", "array[entry.index[::-1]] = value"),
     explorer("every_control_moves_its_value_and_nothing_else")),
    ("changes in two threads at once", HELPERS, replaced("threading.RLock()", "threading.Semaphore(99)"), HELPER_TESTS + "a_change_that_comes_in_another_thread_waits_for_its_turn"),
    ("a slider that is heard out of turn", HELPERS, replaced("_in_turn(self.slider.set_state)", "self.slider.set_state"), HELPER_TESTS + "every_control_waits_while_another_change_has_its_turn"),
    ("slider wired to nothing", HELPERS, replaced('self.slider.observe(self._dragged, "value")', "pass"),
     explorer("every_control_moves_its_value_and_nothing_else")),
    ("Reset forgets one value", HELPERS, replaced("{**self.start, **values}", "{**dict(list(self.start.items())[1:]), **values}"),
     explorer("reset_brings_back_the_exact_start")),
    ("message is not shown", HELPERS, replaced('return self._say(f"{error}. The', 'return str(f"{error}. The'),
     explorer("bad_text_becomes_a_message_and_the_picture_stays")),
    ("infinity typed into a box is taken", HELPERS, replaced("if not low <= value <= high:", "if value < low or 1e300 > value > high:"),
     explorer("bad_text_becomes_a_message_and_the_picture_stays")),
    ("picture not restored after an error", HELPERS, replaced("self.values = old\n", "pass\n"),
     "tests/test_helpers.py::test_refused_values_leave_the_picture_as_it_was"),
    ("picture not brought back when it cannot be drawn", HELPERS, replaced("self.picture.set(**before)", "pass"),
     explorer("mistake_of_ours_becomes_a_message_and_the_picture_recovers")),
    ("live sentence not renewed", HELPERS, replaced("        self.words.value = (", "        _ = ("), explorer("start")),
    ("picture leaves something of the last state", FIGURE, replaced("self.fringes.set_path(", "self.fringes.get_path().vertices.size or self.fringes.set_path("),
     explorer("every_control_moves_its_value_and_nothing_else")),
    # ground floor
    ("ReLU is the identity", HELPERS, replaced('"relu": lambda z: z.clamp(min=0)', '"relu": lambda z: z'), NETWORKS + "network_is_a_loop_over_tokens"),
    ("GELU by its tanh approximation", HELPERS, replaced("torch.erf(z / math.sqrt(2))", "torch.tanh(0.7978845608 * (z + 0.044715 * z ** 3))"),
     NETWORKS + "activation_is_what_torch_and_plain_python_compute"),
    ("W1 transposed", HELPERS, replaced("self.expand = torch.nn.Linear(self.d_model, self.d_ff", "self.expand = torch.nn.Linear(self.d_ff, self.d_model"),
     NETWORKS + "shape_in_is_shape_out"),
    ("what a mask hides is used", INPUTS, replaced("if np.ma.isMaskedArray(value) and np.ma.is_masked(value):", "if False:"), HELPER_TESTS + "odd_numbers_are_refused_or_right"),
    ("gated FFN without its gate", HELPERS, replaced("self._activate(self.gate(x)) * self.value(x)", "self.value(x)"),
     NETWORKS + "gated_is_shazeers_family"),
    ("a bias too many", HELPERS, replaced('activation="silu", bias=False', 'activation="silu", bias=True'), NETWORKS + "parameters"),
    ("NaN let through", INPUTS, replaced("if not np.isfinite(array).all():", "if False:"), HELPER_TESTS + "bad_input_is_refused_by_name"),
    ("limits removed", INPUTS, replaced("if array.size and np.abs(array).max() > limit:", "if False:"), HELPER_TESTS + "checked_holds_its_limit"),
    ("bars upside down", HELPERS, replaced("lengths, positive = values * self.unit", "lengths, positive = -values * self.unit"),
     HELPER_TESTS + "bar_heights_are_the_values"),
    ("a check that accepts everything", HELPERS, replaced('print(f"not yet: {fault}" if fault else', 'print(f"correct: {name}" if fault else'),
     HELPER_TESTS + "check_array"),
    ("a verdict without support", HELPERS, replaced("if not holds:", "if False:"), HELPER_TESTS + "verdict_without_support_raises_and_prints_nothing"),
    ("no alt text in any picture", HELPERS, replaced('<img alt="{html.escape(self.alt)}"', '<img alt=""'), picture("a_drawing_of_the_same_values_is_the_same")),
    ("SVG text loses a letter", LAYER, replaced("for char in s:\n            data", "for char in s[1:]:\n            data"),
     picture("still_and_moving_layer_hold_every_text")),
    ("SVG hatch lost", LAYER, replaced("if gc.get_hatch():", "if False:"), SVG + "hatch_is_a_pattern_defined_once_for_each_colour"),
    ("SVG leans on a drawing that is gone", LAYER, replaced("if name not in self.lasting]", "if name not in self.lasting and not self.lasting.update(uses)]"), SVG + "drawing_that_replaces_another_does_not_lean_on_it"),
    # the house
    ("an import upward", HELPERS, appended("\n\ndef later():\n    import figures\n"), "tests/test_notebooks.py::test_imports_run_downward[ffn_helpers]"),
    ("sanitizer widened to numbers", "tests/sanitize.cfg", appended("\n[numbers]\nregex: \\d+\nreplace: NUMBER\n"),
     "tests/test_notebooks.py::test_only_pixels_are_sanitized"),
    ("nbval made lax", "pyproject.toml", replaced("--nbval ", "--nbval-lax "), "tests/test_notebooks.py::test_notebooks_are_found_and_go_through_strict_nbval"),
    ("pixel tolerance raised", "conftest.py", replaced("TOLERANCE = 16, 8", "TOLERANCE = 16, 80"), "tests/test_pictures.py::test_pixels_catch_a_lost_decimal_point"),
    ("pixels that nobody compares", "conftest.py", replaced("IPyNbCell.compare_outputs = compare_text_and_pixels", "pass"), "tests/test_nbval.py"),
    ("the first picture of a cell let through", "conftest.py", replaced("zip(pictures(stored), ", "zip(pictures(stored)[1:], "), "tests/test_nbval.py"),
    ("a test command that never fails", "course.py", replaced("    return code\n", "    return 0\n"),
     "tests/test_course.py::test_the_test_command_runs_everything_and_ends_as_pytest_does"),
    ("a set-up begun again by who waited for it", "course.py", replaced("            if not holds(venv, wanted):\n", "            if True:\n"),
     "tests/test_course.py::test_a_second_set_up_at_once_waits_and_finds_it_done"),
    ("a folded output", NOTEBOOK, in_notebook(lambda _, cells: cells[1]["metadata"].update(jupyter={"outputs_hidden": True})),
     lint("nothing_is_collapsed")),
    # activations, gates, the cost
    ("a gap that stands in the wrong place", "figures/activation_pair.py", replaced("abs(gap[widest]) < 0.05", "abs(gap[widest]) < 0.25"),
     "tests/test_activation_pair.py::test_largest_gap_stands_in_title_and_panel"),
    ("a slope that is not the curve's", "figures/activation_pair.py", replaced("output = z * kept", "output = z * kept.detach()"),
     "tests/test_activation_pair.py::test_readings_and_points_are_what_torch_computes"),
    ("a unit called silent that is not", "figures/dead_unit.py", replaced("silent = slopes[0] == 0", "silent = z < z.mean()"),
     "tests/test_activation_pair.py::test_slopes_are_counted_as_autograd_finds_them"),
    ("a solution about dead units that asks for any", "notebooks/05_activations.ipynb", replaced("return (z <= 0).all(dim=0)", "return (z <= 0).any(dim=0)"),
     "tests/test_solutions.py::test_solutions[05_activations]"),
    ("a gate counted with two matrices", "figures/gated_ffn.py", replaced("weights, usual = 3 * 512", "weights, usual = 2 * 512"),
     "tests/test_gated_ffn.py::test_budget_in_words_and_to_scale"),
    ("a published number with one wrong digit", "figures/shazeer.py", replaced("(1.942, 0.004, 1.633)", "(1.942, 0.004, 1.638)"),
     "tests/test_gated_ffn.py::test_the_table_is_the_published_one"),
    ("a contour at the wrong place", "figures/gate_surfaces.py", replaced("bound = level / g[inside]", "bound = level * g[inside]"),
     "tests/test_gated_ffn.py::test_a_band_holds_the_points_that_reach_its_level"),
    ("gate and value swapped in a solution", "notebooks/06_gates.ipynb", replaced("guess = (F.silu(right) * left) @ W2", "guess = (F.silu(left) * right) @ W2"),
     "tests/test_solutions.py::test_solutions[06_gates]"),
    ("attention's weights without the shared keys", "model_costs.py", replaced("self.head_dim * (self.heads + self.kv_heads)", "self.head_dim * 2 * self.heads"),
     "tests/test_model_costs.py::test_parameters_are_the_files_to_the_last_digit"),
    ("an FFN bias forgotten", "model_costs.py", replaced("* self.d_ff + self.d_model)", "* self.d_ff)"),
     "tests/test_model_costs.py::test_parameters_are_the_files_to_the_last_digit"),
    ("heads that do not divide let through", "model_costs.py", replaced("if self.heads % self.kv_heads:", "if False:"),
     "tests/test_model_costs.py::test_what_is_no_model_is_refused"),
    ("a causal crossing that is not doubled", "model_costs.py", replaced("keys * (2 if causal else 1)", "keys * (1 if causal else 1)"),
     "tests/test_model_costs.py::test_the_crossing_is_2d_or_4d_for_the_classic_layer"),
    ("a cache without its values", "model_costs.py", replaced("return 2 * self.kv_heads * self.head_dim", "return self.kv_heads * self.head_dim"),
     "tests/test_model_costs.py::test_cache_bytes"),
    ("a band moved by a point", "figures/parameter_shares.py", replaced("BAND = 70, 85", "BAND = 71, 85"),
     "tests/test_flops.py::test_who_is_in_the_band"),
    # the web pages
    ("site: a picture without its alt text", "tools/pages/convert.py", replaced('alt="{html.escape(alt)}"', 'alt=""'),
     site("every_picture_is_on_its_page_with_its_alt_text", NAME)),
    ("site: pictures without their heights", "tools/pages/convert.py", replaced('height="{height}" ', ""), PAGES + "nothing_moves_while_pictures_come"),
    ("site: a verdict that is not printed", "tools/pages/convert.py", replaced("parts.append(f'<p class=\"verdict", "str(f'<p class=\"verdict"),
     site("every_code_cell_and_its_output_is_there", NAME)),
    ("site: a link to a notebook's file", "tools/pages/build.py", replaced('f"{Path(path).stem}.html{mark}', 'f"{Path(path).stem}.ipynb{mark}'), site("every_link_leads_somewhere")),
    ("site: a style sheet from elsewhere", "tools/pages/templates/page.html.j2", replaced('href="style.css"', 'href="https://example.org/style.css"'),
     site("no_page_loads_anything_from_elsewhere")),
    ("site: another folder emptied", "tools/pages/build.py", replaced("and not (out / MARKER).exists()", "and False"), site("a_folder_with_other_files_is_not_emptied")),
    ("site: no two builds alike", "tools/pages/build.py", replaced('files[MARKER] = ""', 'files[MARKER] = __import__("os").urandom(4)'),
     site("a_second_build_is_the_same_and_leaves_nothing_of_the_first")),
    ("site: an output hidden by style", "tools/pages/templates/style.css.j2", replaced(".output {", ".output { display: none;"), PAGES + "no_rule_of_the_style_hides_an_output"),
    ("site: weights in another order than computed with", "tools/pages/templates/hero.html.j2", replaced("fh.num(hero.FIXED.W2[i])", "fh.num(hero.FIXED.W2[2 - i])"),
     site("what_stands_fixed_in_the_picture_is_what_the_helper_computes_with")),
    ("site: text too pale to read", "tools/pages/templates/style.css.j2", replaced(".claim {", ".claim { opacity: 0.5;"), PAGES + "axe_finds_nothing_serious"),
    ("site: a slider without its name", "tools/pages/templates/index.html.j2", replaced('<label for="control-', '<label for="hero-'), site("controls_have_names")),
    ("site: the still picture subtracts its biases", "tools/pages/hero.py", replaced("* np.asarray(W1) + ", "* np.asarray(W1) - "), site("the_picture_says_what_torch_computes", 0)),
    ("site: the script cuts nothing", "tools/pages/templates/hero.js", replaced("Math.max(value, 0)", "Math.max(value, value)"),
     PAGES + "the_script_says_what_the_helper_computes_and_the_keyboard_moves_it"),
    # the table of claims
    ("a verdict changed in the ledger", "notebooks/data/claims.csv", ledger_row("C016", ",true,", ",wrong,"),
     "tests/test_ledger.py::test_the_ledger_agrees_with_the_notebooks"),
    ("a column renamed in the ledger", "notebooks/data/claims.csv", replaced("verdict", "judgement"),
     "tests/test_ledger.py::test_the_ledger_agrees_with_the_notebooks"),
]


# ---------------------------------------------------------------- running them

def copy(folder):
    """The repository as it stands in the working tree, without what git ignores."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                           capture_output=True, check=True).stdout.decode("utf-8").split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def pytest(folder, selections, *options):
    """Run tests in a copy; returns pytest's exit code (0 passed, 1 failed) and its last words."""
    # No bytecode: a file that changes twice within a second would be taken from the cache.
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *selections], cwd=folder,
                          env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode("utf-8", errors="replace")


def try_fault(folder, fault):
    """Apply a fault, run its selection, mend the file; returns None when it was caught, else what happened."""
    _, file, change, selection = fault
    path = folder / file
    good = path.read_bytes()
    try:
        broken = change(good)
        if broken == good:
            raise NotApplied("it changes nothing")
        path.write_bytes(broken)
        code, text = pytest(folder, [selection], "-x")
        return None if code == 1 else f"pytest ended with {code}\n{text[-1500:]}"
    except NotApplied as error:
        return f"NOT APPLIED to {file}: {error}"
    finally:
        path.write_bytes(good)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only faults with one of these words in their names")
    parser.add_argument("--jobs", type=int, default=2, help="faults at a time (default 2)")
    args = parser.parse_args()
    faults = [fault for fault in FAULTS if not args.words or any(word.lower() in fault[0].lower() for word in args.words)]
    start = time.time()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(args.jobs) as pool:
        copies = queue.SimpleQueue()
        for number in range(args.jobs):
            copies.put(copy(Path(folder) / str(number)))
        selections = sorted({fault[3] for fault in faults})
        code, text = pytest(Path(folder) / "0", selections, "-n", str(args.jobs), "--dist", "loadfile")
        if code:
            print(text[-4000:], f"\nThe unbroken course does not pass ({code}): mend that first.")
            return 1
        print(f"unbroken: {len(selections)} selections pass ({time.time() - start:.0f} s)", flush=True)

        def tried(fault):
            mine, began = copies.get(), time.time()
            try:
                return try_fault(mine, fault), time.time() - began
            finally:
                copies.put(mine)

        caught = 0
        for (name, file, _, selection), (trouble, seconds) in zip(faults, pool.map(tried, faults)):
            caught += trouble is None
            print(f"{'caught' if trouble is None else 'MISSED':7} {name:44} {file:38} {seconds:4.0f} s", flush=True)
            if trouble:
                print("        " + selection + "\n" + trouble)
    print(f"{caught} of {len(faults)} caught ({time.time() - start:.0f} s)")
    return 0 if faults and caught == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
