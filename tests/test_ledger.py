"""The table of claims (notebooks/data/claims.csv) against the verdicts that the notebooks print.

A notebook settles a claim by printing one line, `C003 corrected: (2x+3)*4 = 8x + 12, not 26x + 12`. The
table says in which notebook that happens and with which verdict.
"""
import csv
import re
from pathlib import Path

import pytest

from tests.test_notebooks import NOTEBOOKS, outputs, read

TABLE = Path(__file__).resolve().parent.parent / "notebooks" / "data" / "claims.csv"
COLUMNS = ["id", "document", "claim", "verdict", "value", "notebook", "source"]
# The table's word, and the word that a notebook prints for it.
VERDICTS = {"true": "true", "wrong": "corrected", "nuanced": "nuanced", "unverifiable": "unverifiable"}
LINE = re.compile(r"^(C\d{3}[a-k]?) ([a-z]+): (.+)$", re.MULTILINE)


def complaints(claims, printed):
    """Where table and notebooks disagree.

    claims: rows of the table as dicts.  printed: (notebook's stem, id, verdict word) of every line.
    """
    found = []
    table = {claim["id"]: claim for claim in claims}
    if len(table) != len(claims):
        found.append("an id stands twice in the table")
    for claim in claims:
        if claim["verdict"] not in VERDICTS:
            found.append(f"{claim['id']} has the verdict {claim['verdict']!r}; known are {', '.join(VERDICTS)}")
        home = claim["notebook"].removesuffix(".ipynb")
        times = sum((notebook, id) == (home, claim["id"]) for notebook, id, _ in printed)
        if times != 1:
            found.append(f"{claim['id']} is settled {times} times in {home}")
    for notebook, id, word in printed:
        if id not in table:
            found.append(f"{notebook} settles {id}, which the table lacks")
        elif word != VERDICTS.get(table[id]["verdict"]):
            found.append(f"{notebook} prints {id} {word}; the table says {table[id]['verdict']}")
    return found


def verdict_lines(path):
    notebook = read(path.read_text(encoding="utf-8"), path.name)
    return [(path.stem, id, word) for output in outputs(notebook) for id, word, _ in LINE.findall(output["text"])]


def test_the_ledger_agrees_with_the_notebooks():
    with TABLE.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        claims = list(reader)
    assert reader.fieldnames == COLUMNS
    found = complaints(claims, [line for path in NOTEBOOKS for line in verdict_lines(path)])
    assert not found, "\n".join(found)


# ---------------------------------------------------------------- this file against broken tables

def claim(id="C003", verdict="wrong", notebook="01_x"):
    return {"id": id, "verdict": verdict, "notebook": notebook}


GOOD = [("01_x", "C003", "corrected")]


def test_a_good_ledger_passes():
    assert not complaints([claim()], GOOD)


@pytest.mark.parametrize("claims, printed", [
    ([claim(), claim("C004")], GOOD),               # not printed
    ([claim(), claim("C101a", "true", "99_no_notebook")], GOOD),
    ([claim(), claim("C034", "true", "")], GOOD),   # no notebook named
    ([claim()], GOOD * 2),                          # printed twice
    ([claim()], [("02_y", "C003", "corrected"), ("01_x", "C004", "true")]),  # elsewhere, and unknown
    ([], GOOD),                                     # not in the table
    ([claim(verdict="true")], GOOD),                # other verdict
    ([claim(verdict="maybe")], [("01_x", "C003", "maybe")]),
    ([claim(), claim()], GOOD),                     # twice in the table
])
def test_a_broken_ledger_is_found(claims, printed):
    assert complaints(claims, printed)


def test_verdict_lines_are_recognised():
    assert LINE.findall("C003 corrected: 8x + 12\nC101a true: yes\nC1 true: no\nsee C004 true: no\n") == [
        ("C003", "corrected", "8x + 12"), ("C101a", "true", "yes")]
