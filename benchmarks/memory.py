"""How much memory a hosted server needs: JupyterLab with notebooks open and run.

    .venv/bin/python benchmarks/memory.py        needs Linux, Chromium and Playwright

Counts the server and its kernels (not the browser, which is the reader's). Proportional set size, so
that pages shared between kernels count once.
"""
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import psutil
from playwright.sync_api import sync_playwright

from tests.browser.lab import CHROMIUM, FLAGS, Lab, Notebook
from tests.test_notebooks import NOTEBOOKS


def megabytes(process):
    return process.memory_full_info().pss / 1e6


def main():
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        lab = Lab(pathlib.Path(folder))
        try:
            server = psutil.Process(lab.process.pid)
            chrome = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            sizes = {}
            print(f"server alone: {megabytes(server):.0f} MB\n\n| notebook run | kernel MB |\n|---|---|")
            for path in NOTEBOOKS:
                page = chrome.new_page(viewport={"width": 1280, "height": 1000})
                notebook = Notebook(page, lab, f"notebooks/{path.name}")
                assert notebook.run_all() == []
                kernels = server.children()
                sizes[path] = max(megabytes(kernel) for kernel in kernels)
                print(f"| {path.stem} | {sizes[path]:.0f} |", flush=True)
                notebook.shut_down()
                page.close()
            for path in sorted(sizes, key=sizes.get)[-2:]:
                page = chrome.new_page(viewport={"width": 1280, "height": 1000})
                assert Notebook(page, lab, f"notebooks/{path.name}").run_all() == []
            total = megabytes(server) + sum(megabytes(child) for child in server.children(recursive=True))
            print(f"\nserver and the two heaviest notebooks, open and run: {total:.0f} MB")
        finally:
            lab.close()


if __name__ == "__main__":
    main()
