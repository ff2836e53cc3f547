"""Execute notebooks without a browser: `run` only reports, `refresh` stores the outputs.

Called by course.py inside the environment; `python tools/notebooks.py run 01` works in any other
that has the course's packages. A stored notebook is always in the same normal form, so that two
refreshes give the same bytes and a diff shows what changed and nothing else.
"""
import argparse
import copy
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

ROOT = Path(__file__).resolve().parent.parent
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
CELL_METADATA = {"tags", "cellView", "jupyter"}  # folded cells: `jupyter` in JupyterLab, `cellView` in Colab
NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
TIMEOUT = 300  # seconds for one cell


class Failed(Exception):
    """A cell did not run; the text names it and the error."""


def execute(notebook, folder):
    """Run every code cell of a notebook in a fresh kernel that starts in `folder`.

    Returns an executed copy. Raises `Failed` with the number that the reader sees beside the cell.
    """
    notebook = copy.deepcopy(notebook)
    client = NotebookClient(notebook, timeout=TIMEOUT, kernel_name="python3", record_timing=False,
                            resources={"metadata": {"path": str(folder)}})
    with client.setup_kernel(stderr=subprocess.DEVNULL):  # the kernel's own log; a cell's stderr is an output
        number = 0
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type != "code":
                continue
            number += 1
            try:
                client.execute_cell(cell, index)
            except CellExecutionError as error:
                raise Failed(f"cell [{number}] raised {error.ename}: {error.evalue}\n{indent(cell.source)}") from None
            except CellTimeoutError:
                raise Failed(f"cell [{number}] ran for more than {TIMEOUT} s\n{indent(cell.source)}") from None
            except DeadKernelError:
                raise Failed(f"cell [{number}] killed its kernel (out of memory?)\n{indent(cell.source)}") from None
    return notebook


def indent(source):
    return "\n".join("      | " + line for line in source.splitlines())


def normalise(notebook):
    """Bring an executed notebook into the normal form in which it is stored; changes no source."""
    notebook.metadata = nbformat.from_dict(NOTEBOOK_METADATA)
    number = 0
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k in CELL_METADATA})
        if cell.cell_type != "code":
            continue
        number += 1
        cell.execution_count = number
        cell.outputs = merge_streams(drop_widget_views(cell.outputs))
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
    return notebook


def drop_widget_views(outputs):
    """A widget's view needs its kernel: stored, it shows as an error. What stands beside it stays."""
    for output in outputs:
        output.get("data", {}).pop(WIDGET_VIEW, None)
    return [output for output in outputs if output.get("data") != {}]


def merge_streams(outputs):
    """How printed text is cut into messages depends on timing, so neighbours become one."""
    merged = []
    for output in outputs:
        if merged and output.output_type == "stream" and merged[-1].get("name") == output.name:
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def dumps(notebook):
    """The text that JupyterLab would save."""
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"


def sources(text):
    """What a person wrote in a notebook: its cells without outputs, counts and passing metadata."""
    return [(cell.cell_type, cell.source, cell.get("attachments"),
             {k: v for k, v in cell.metadata.items() if k in CELL_METADATA})
            for cell in nbformat.reads(text, as_version=nbformat.NO_CONVERT).cells]


def uncommitted(path):
    """Why the notebook's source is not safe in Git, or None when HEAD holds it."""
    try:
        head = subprocess.run(["git", "show", f"HEAD:./{path.name}"], cwd=path.parent, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "is not in the last commit"
    if sources(head.stdout.decode("utf-8")) != sources(path.read_text(encoding="utf-8")):
        return "has changes in its source that are not committed"
    return None


def run(path):
    """Execute one notebook and write nothing; returns the seconds."""
    start = time.perf_counter()
    execute(nbformat.read(path, as_version=nbformat.NO_CONVERT), path.parent)
    return time.perf_counter() - start


def refresh(path, edited=False):
    """Execute one notebook and store its outputs; returns the seconds.

    Raises `Failed`, and leaves the file as it is, when its source is not committed (unless `edited`),
    when a cell fails, or when somebody saved the file in the meantime.
    """
    reason = None if edited else uncommitted(path)
    if reason:
        raise Failed(f"{reason}: commit it, or use --edited")
    before, start = path.read_bytes(), time.perf_counter()
    notebook = nbformat.reads(before.decode("utf-8"), as_version=nbformat.NO_CONVERT)
    text = dumps(normalise(execute(notebook, path.parent)))
    if sources(text) != sources(before.decode("utf-8")):
        raise Failed("would lose part of its source; this is a fault in tools/notebooks.py")
    if path.read_bytes() != before:
        raise Failed("was saved by someone else while it ran; not overwritten")
    if text.encode("utf-8") != before:
        # The new file takes the old one's place in one step, so that no reader meets half a notebook.
        new = path.with_name(path.name + ".new")
        new.write_bytes(text.encode("utf-8"))
        os.replace(new, path)
    return time.perf_counter() - start


def choose(names, folder):
    """The notebooks whose names begin with one of `names`; all of them when there are none."""
    every = sorted(folder.glob("*.ipynb"))
    if not every:
        sys.exit(f"No notebooks in {folder}")
    chosen = [path for path in every if not names or any(path.name.startswith(Path(name).name) for name in names)]
    for name in names:
        if not any(path.name.startswith(Path(name).name) for path in every):
            sys.exit(f"No notebook begins with {name!r}; there are {', '.join(path.stem for path in every)}")
    return chosen


def main(argv=None, folder=ROOT / "notebooks"):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["run", "refresh"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--edited", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args(argv)
    paths = choose(args.names, folder)

    def work(path):
        try:
            return (run(path) if args.command == "run" else refresh(path, args.edited)), None
        except (Failed, nbformat.reader.NotJSONError, nbformat.ValidationError, RuntimeError) as failure:
            # nbclient's RuntimeError: a kernel that did not answer, or died before it could.
            return None, str(failure)

    failed = 0
    with ThreadPoolExecutor(max_workers=args.jobs) as pool:
        for path, (seconds, failure) in zip(paths, pool.map(work, paths)):
            print(f"{path.stem:32}" + (f"{seconds:6.1f} s" if failure is None else f" FAILED: {failure}"), flush=True)
            failed += failure is not None
    print(f"{len(paths) - failed} of {len(paths)} notebooks " + ("ran" if args.command == "run" else "refreshed"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")
    sys.exit(main())
