"""The first code cell of every notebook, which finds the course's files: beside it, or by one shallow clone.

A bare repository on disk stands in for GitHub, by way of git's own `insteadOf`.
"""
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.test_notebooks import NOTEBOOKS, read

ROOT = Path(__file__).resolve().parent.parent
FIRST_CELLS = {path.stem: next(cell["source"] for cell in read(path.read_text(encoding="utf-8"), path.name)["cells"]
                               if cell["cell_type"] == "code") for path in NOTEBOOKS}
REPORT = "\nprint('at', os.getcwd(), 'with', Path(fh.__file__).parent)"


def git(*args, cwd):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *map(str, args)],
                   cwd=cwd, check=True, capture_output=True)


@pytest.fixture(scope="module")
def github(tmp_path_factory):
    """A folder in the place of https://github.com/ with OWNER/REPO in it, small enough to clone at once."""
    place = tmp_path_factory.mktemp("github")
    work = place / "work"
    (work / "notebooks").mkdir(parents=True)
    (work / "notebooks" / "keep").touch()
    (work / "ffn_helpers.py").touch()
    git("init", "-q", cwd=work)
    git("add", "-A", cwd=work)
    git("commit", "-q", "-m", "as published", cwd=work)
    (place / "OWNER").mkdir()
    git("clone", "-q", "--bare", work, place / "OWNER" / "REPO", cwd=place)
    return place


def start(folder, github, cell, times=1):
    """Run the first cell in a fresh Python that starts in `folder`; returns (exit code, last line, seconds)."""
    config = github.parent / "gitconfig"
    config.write_text(f'[url "{github.as_uri()}/"]\n  insteadOf = https://github.com/\n', encoding="utf-8")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": str(config), "PYTHONPATH": ""}
    code = "\n".join([cell] * times) + REPORT
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True,
                          encoding="utf-8", timeout=150)
    return done.returncode, (done.stdout + done.stderr).strip().splitlines()[-1], time.monotonic() - began


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "content"
    path.mkdir()
    return path


@pytest.fixture
def cell():
    return next(iter(FIRST_CELLS.values())).replace(_slug(next(iter(FIRST_CELLS.values()))), "OWNER/REPO")


def _slug(source):
    return source.split('SLUG, here = "')[1].split('"')[0]


def test_it_is_the_same_in_every_notebook():
    assert len(set(FIRST_CELLS.values())) == 1


def test_beside_the_files_it_only_finds_them(cell, folder, tmp_path):
    for place in (folder / "notebooks", folder / "notebooks" / "data", folder):
        place.mkdir(parents=True, exist_ok=True)
    (folder / "ffn_helpers.py").touch()
    for place in (folder / "notebooks", folder / "notebooks" / "data", folder):
        assert start(place, tmp_path / "gone", cell)[:2] == (0, f"at {folder / 'notebooks'} with {folder}")


def test_in_a_fresh_folder_it_clones_once(github, cell, folder):
    expected = (0, f"at {folder / 'ffn-course' / 'notebooks'} with {folder / 'ffn-course'}")
    assert start(folder, github, cell)[:2] == expected
    assert start(folder, github, cell, times=2)[:2] == expected           # run the cell twice in one kernel
    offline = folder.parent / "offline"
    offline.mkdir()
    assert start(folder, offline, cell)[:2] == expected                   # a restarted kernel, network gone
    assert start(folder / "ffn-course" / "notebooks", offline, cell)[:2] == expected


@pytest.mark.parametrize("slug", ["OWNER/WRONG", "OWNER/REPO; rm -rf x", ""])
def test_a_wrong_address_is_one_sentence(github, cell, folder, slug):
    code, line, seconds = start(folder, github, cell.replace("OWNER/REPO", slug))
    assert code == 1 and line.startswith("RuntimeError: The course's files are not here") and slug in line
    assert seconds < 20 and not (folder / "ffn-course").exists()


def test_offline_is_one_sentence(cell, folder, tmp_path):
    code, line, seconds = start(folder, tmp_path / "gone", cell)
    assert code == 1 and "or go online" in line and seconds < 20


def test_without_git_too(github, cell, folder, monkeypatch):
    monkeypatch.setenv("PATH", str(folder))
    code, line, _ = start(folder, github, cell)
    assert code == 1 and "or go online" in line
