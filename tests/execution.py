"""Run a notebook's code cells in this process, without a kernel."""
import ast
import contextlib
import io
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@contextlib.contextmanager
def fresh_kernel():
    """What a new kernel would give: the notebooks' folder, torch with its defaults, an empty namespace."""
    from IPython.display import display
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT / "notebooks")
        patch.setattr(sys, "path", list(sys.path))
        try:
            yield {"__name__": "__main__", "display": display}
        finally:
            torch = sys.modules.get("torch")
            if torch:
                torch.set_default_dtype(torch.float32)


def run(code, where, namespace, may_raise=False):
    """Execute source or a syntax tree; returns what it prints. `where` names it in a traceback."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            exec(compile(code, where, "exec"), namespace)
        except Exception:
            if not may_raise:
                raise
    return printed.getvalue()


def may_raise(cell):
    """Does the reader expect an error here?"""
    return "raises-exception" in cell.get("metadata", {}).get("tags", [])


def numbered(notebook):
    """Its code cells with the name that a traceback shows: (where, cell)."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [(f"{notebook['name']} cell [{number}]", cell) for number, cell in enumerate(code, 1)]


def calls(source, name):
    """How often a cell calls `name` or `….name`, outside of functions that it defines."""
    found, nodes = 0, list(ast.parse(source).body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Call):
            found += name in (getattr(node.func, "attr", None), getattr(node.func, "id", None))
        nodes += ast.iter_child_nodes(node)
    return found
