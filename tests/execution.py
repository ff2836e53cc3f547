"""Run a notebook's code cells in this process, without a kernel."""
import ast
import contextlib
import io
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent


def reset_torch():
    """Dtype and gradients as after the import. The seed, which each kernel draws, is one for all, so that no test hangs on the last."""
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.manual_seed(0)


@contextlib.contextmanager
def fresh_kernel():
    """What a new kernel would give: the notebooks' folder, torch without what the last notebook set, an empty namespace."""
    from IPython.display import display
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT / "notebooks")
        patch.setattr(sys, "path", list(sys.path))
        reset_torch()
        try:
            yield {"__name__": "__main__", "display": display}
        finally:
            reset_torch()


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
