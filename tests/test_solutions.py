"""Every exercise: its stub answers "not yet: …", its folded solution answers "correct …".

The convention, which a notebook's author follows and this file relies on:

    code cell       the stub, which runs without error, and on its last line(s) the check:
                        def hidden(x, W1, b1):
                            return x                       # your turn
                        fh.check_hidden(hidden)
    Markdown cell   next to it, the folded solution, which defines the stub's names anew:
                        <details><summary>Solution</summary>

                        ```python
                        def hidden(x, W1, b1):
                            return relu(x @ W1 + b1)
                        ```
                        </details>

A check is a call of `check`, `fh.check` or `fh.check_…` as a statement of its own; it prints lines that
begin with "not yet" or "correct". A code cell that ends in one is an exercise and owes a solution.

Each notebook is executed in this process, without a kernel: stub, its check, the solution, the check
again, and so on to the end, so the cells below an exercise are also run with it solved. At the end
each cell runs twice more by itself, so one that spoils what another, or it again, starts from is found.
"""
import ast
import re

import pytest

from tests.execution import fresh_kernel, may_raise, numbered, run
from tests.test_notebooks import NOTEBOOKS, read

FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Fault(AssertionError):
    """An exercise that does not do what its reader is told."""


def split(source):
    """A code cell as (what comes before, the check calls that end it), both as syntax trees."""
    body = ast.parse(source).body
    start = len(body)
    while start and is_check(body[start - 1]):
        start -= 1
    return ast.Module(body[:start], []), ast.Module(body[start:], [])


def is_check(statement):
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    function = statement.value.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name == "check" or name.startswith("check_")


def solution_in(cell):
    """The Python of a folded solution, or None."""
    if cell is None or cell["cell_type"] != "markdown" or "<details" not in cell["source"]:
        return None
    folded = cell["source"][cell["source"].index("<details"):]
    # A fence right below <summary>, without a blank line, is shown as plain text.
    return "\n".join(FENCE.findall(folded)) if re.search(r"</summary>\s*\n\s*\n", folded) else None


def answers(tree, namespace, where):
    """What the checks print, as a list of "correct" and "not yet"."""
    printed = run(tree, where, namespace)
    return re.findall(r"^(correct|not yet)", printed, re.MULTILINE), printed


def work_through(notebook, namespace):
    """Run a notebook and solve each of its exercises on the way; returns the solutions' cells."""
    used, number = [], 0
    for cell, below in zip(notebook["cells"], notebook["cells"][1:] + [None]):
        if cell["cell_type"] != "code":
            continue
        number += 1
        where = f"{notebook['name']} cell [{number}]"
        stub, checks = split(cell["source"])
        run(stub, where, namespace, may_raise(cell))
        if not checks.body:
            continue
        solution = solution_in(below)
        if not solution:
            raise Fault(f"{where} ends in a check, and no folded ```python solution follows it")
        found, text = answers(checks, namespace, where)
        if "not yet" not in found:
            raise Fault(f"{where}: the stub should get 'not yet: …', and gets {text!r}")
        run(solution, where + " solution", namespace)
        found, text = answers(checks, namespace, where)
        if not found or "not yet" in found:
            raise Fault(f"{where}: the solution should get 'correct …', and gets {text!r}")
        used.append(below)
    for where, cell in numbered(notebook):                 # as readers do who return to a cell
        left = dict(namespace)
        for when in ("again", "once more"):                # what a cell changes in place, a cell before it may have mended
            run(cell["source"], f"{where} {when}", left, may_raise(cell))
    return used


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_solutions(path):
    notebook = read(path.read_text(encoding="utf-8"), path.name)
    with fresh_kernel() as namespace:
        used = work_through(notebook, namespace)
    astray = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown" and cell not in used
              and re.search(r"(?is)<summary>.*solution.*</summary>.*```python", cell["source"])]
    assert not astray, "a folded solution does not stand right below its exercise's cell"


# ---------------------------------------------------------------- this file against broken exercises

SETTING = '''
def check_double(f):
    print("correct" if f(3) == 6 else "not yet: f(3) should be 6, and is", f(3))
'''
STUB = "def double(x):\n    return x\n\ncheck_double(double)"
SOLUTION = "<details><summary>Solution</summary>\n\n```python\ndef double(x):\n    return 2 * x\n```\n</details>"


def small(*cells):
    """A notebook of (type, source) pairs; 'c' is code and 'm' is Markdown."""
    kinds = {"c": "code", "m": "markdown"}
    return {"name": "x.ipynb", "cells": [{"cell_type": kinds[kind], "source": text} for kind, text in cells]}


def solved(notebook):
    return work_through(notebook, {})


def test_a_good_exercise_passes():
    after = ("c", "assert double(5) == 10")
    assert len(solved(small(("c", SETTING), ("c", STUB), ("m", SOLUTION), after))) == 1


@pytest.mark.parametrize("stub, solution, message", [
    (STUB, SOLUTION.replace("2 * x", "3 * x"), "the solution should"),
    (STUB.replace("return x", "return 2 * x"), SOLUTION, "the stub should"),
    (STUB, "Think.", "no folded"),
    (STUB, SOLUTION.replace("```python", "```"), "no folded"),
    (STUB, SOLUTION.replace("</summary>\n\n", "</summary>\n"), "no folded"),
    (STUB.replace("check_double(double)", "check_nothing(double)"), SOLUTION, "the stub should"),
])
def test_a_broken_exercise_is_found(stub, solution, message):
    setting = SETTING + "\ndef check_nothing(f):\n    pass\n"
    with pytest.raises(Fault, match=message):
        solved(small(("c", setting), ("c", stub), ("m", solution)))


def test_a_cell_that_cannot_run_twice_is_found():
    with pytest.raises(AssertionError, match="spent"):
        solved(small(("c", "left = [1]"), ("c", "assert left, 'spent'\nleft.pop()")))


def test_a_cell_to_which_nobody_can_return_is_found():
    with pytest.raises(AssertionError, match="another x"):
        solved(small(("c", "x = 1"), ("c", "assert x == 1, 'another x'"), ("c", "x = 2")))


def test_a_stub_that_raises_is_found():
    with pytest.raises(NotImplementedError):
        solved(small(("c", SETTING), ("c", STUB.replace("return x", "raise NotImplementedError")),
                           ("m", SOLUTION)))
