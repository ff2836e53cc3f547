"""The comparison that conftest.py puts in nbval's place: it is switched on, and no picture of a cell escapes it."""
import base64
import io

import nbformat
import pytest
from nbval.plugin import IPyNbFile
from PIL import Image


def outputs(*greys):
    """A cell's outputs with one picture each, of one grey."""
    found = []
    for grey in greys:
        png = io.BytesIO()
        Image.new("L", (8, 8), grey).save(png, "png")
        source = "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()
        found.append(nbformat.v4.new_output("display_data", {"text/html": f'<img alt="64 dots" src="{source}">', "text/plain": "Dots."}))
    return found


@pytest.fixture
def cell(request, tmp_path):
    path = tmp_path / "a.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("show()")]), path)
    file = IPyNbFile.from_parent(request.session, path=path)
    file.setup_sanitize_files()
    cell, = file.collect()
    cell.comparison_traceback = []
    return cell


@pytest.mark.pixels
@pytest.mark.parametrize("drawn, same", [((50, 200), True), ((90, 200), False), ((50, 250), False)])
def test_every_picture_of_a_cell_is_compared(cell, drawn, same):
    assert cell.compare_outputs(outputs(*drawn), outputs(50, 200)) == same
    assert bool(cell.comparison_traceback) != same


@pytest.mark.parametrize("drawn, stored", [((50,), (50, 200)), ((50, 200), (50,)), ((), (50,))])
def test_a_picture_that_is_missing_is_noticed(cell, drawn, stored):
    assert not cell.compare_outputs(outputs(*drawn), outputs(*stored))
