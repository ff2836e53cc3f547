"""The list of tools/faults.py against the course as it stands: every fault can still be applied.

Whether each is caught takes minutes, and is asked by hand: `python tools/faults.py`.
"""
import re

import pytest

from tools.faults import FAULTS, ROOT, NotApplied, in_outputs, replaced


def test_there_are_as_many_as_the_house_rules_say_and_each_has_its_own_name():
    said, = re.findall(r"applies (\d+) deliberate faults", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len({fault[0] for fault in FAULTS}) == len(FAULTS) == int(said)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault[0])
def test_fault_changes_its_file(fault):
    _, file, change, selection = fault
    good = (ROOT / file).read_bytes()
    assert change(good) != good
    assert (ROOT / selection.partition("::")[0]).exists()


@pytest.mark.parametrize("change, content", [(replaced("a", "b"), b"x"), (replaced("a", "a"), b"a"),
                                             (in_outputs("a", "b"), b'{"cells": []}')])
def test_fault_without_its_place_says_so(change, content):
    with pytest.raises(NotApplied):
        change(content)
