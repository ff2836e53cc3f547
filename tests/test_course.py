"""course.py and tools/notebooks.py, without installing anything and with one short kernel."""
import ast
import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import course
from tools import notebooks as tool

SOURCE = Path(course.__file__).read_text(encoding="utf-8")


def git(folder, *command):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *command], cwd=folder, check=True,
                   capture_output=True)


def notebook(*sources):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.v4.new_notebook(cells=cells, metadata=tool.NOTEBOOK_METADATA)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A committed course of one notebook, in a path with a space and Chinese characters."""
    root = tmp_path / "前馈 网络"
    (root / "notebooks").mkdir(parents=True)
    (root / "README.md").write_text(
        "https://colab.research.google.com/github/OWNER/REPO/blob/main/notebooks/01_a.ipynb\n"
        "https://mybinder.org/v2/gh/OWNER/REPO/main?urlpath=lab\n"
        "git clone https://github.com/OWNER/REPO.git\n"
        "a peer: https://github.com/someone/else/blob/main/x.py\n", encoding="utf-8")
    (root / "docs").mkdir()
    (root / "docs" / "teaching.md").write_text(
        "https://HUB/hub/user-redirect/git-pull?repo=https%3A%2F%2Fgithub.com%2FOWNER%2FREPO&branch=main\n", encoding="utf-8")
    path = root / "notebooks" / "01_a.ipynb"
    path.write_text(tool.dumps(notebook('SLUG = "OWNER/REPO"', "print(1 + 1)")), encoding="utf-8")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    monkeypatch.setattr(course, "ROOT", root)
    return root


# ---------------------------------------------------------------- set-up

def test_an_old_python_can_read_the_file_and_gets_a_message(monkeypatch):
    ast.parse(SOURCE, feature_version=(3, 8))
    monkeypatch.setattr(course.sys, "version_info", (3, 8, 10))
    with pytest.raises(course.Problem, match="3.11 or newer; this is 3.8"):
        course.check_python()


@pytest.mark.parametrize("user", [0, 1000])
def test_the_lab_starts_as_root_too(user, monkeypatch):
    """In a container; Jupyter itself would refuse."""
    commands = []
    monkeypatch.setattr(course, "set_up", lambda files: "python")
    monkeypatch.setattr(course, "run", commands.append)
    monkeypatch.setattr(course.os, "geteuid", lambda: user, raising=False)
    course.main(["lab", "--no-browser"])
    assert ("--allow-root" in commands[0]) == (user == 0) and commands[0][-1] == "--no-browser"


def test_a_python_without_venv_gets_the_command_that_helps(monkeypatch, capsys):
    monkeypatch.setattr(course.importlib.util, "find_spec", lambda name: None)
    assert course.main(["lab"]) == 1
    assert "sudo apt install python3-venv" in capsys.readouterr().err


@pytest.mark.parametrize("errors, advice", [
    ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
    ("WARNING: Retrying after connection broken by 'NewConnectionError'\n"
     "ERROR: No matching distribution found for torch", "could not reach"),
    ("ERROR: No matching distribution found for torch==2.13.0", "Intel Macs"),
    ("ERROR: No matching distribution found for networkx>=2.5.1", "Intel Macs"),
])
def test_pip_failures_are_explained(errors, advice):
    assert advice in course.explain_failure(errors)


def test_what_pip_says_of_its_resolver_and_of_networkx_is_no_lack_of_network():
    assert course.explain_failure("ERROR: pip's dependency resolver does not take networkx into account") is None


@pytest.fixture
def installs(repository, monkeypatch):
    """A set-up that installs nothing; returns the list of what it would have run."""
    calls = []
    (repository / "requirements.txt").write_text("a==1\n", encoding="utf-8")
    (repository / "tests").mkdir()
    (repository / "tests" / "requirements.txt").write_text("b==1\n", encoding="utf-8")

    def venv(command, quiet=False):
        python = course.venv_python(repository / ".venv")
        if "venv" in command:
            calls.append("venv")
            python.parent.mkdir(parents=True, exist_ok=True)
            python.touch()
        return 0 if python.exists() else 1

    monkeypatch.setattr(course, "run", venv)
    monkeypatch.setattr(course, "pip_install", lambda python, files: (calls.append(tuple(files)) or 0, ""))
    return calls


def test_a_second_set_up_is_skipped(installs):
    course.set_up(course.LAB_FILES)
    assert installs == ["venv", ("requirements.txt",)]
    course.set_up(course.LAB_FILES)
    assert len(installs) == 2
    course.set_up(course.TEST_FILES)
    course.set_up(course.LAB_FILES)
    assert installs[2:] == [("requirements.txt", "tests/requirements.txt")]


def test_a_folder_that_cannot_be_written_gets_a_sentence(installs, repository, monkeypatch, capfd):
    course.set_up(course.LAB_FILES)
    (repository / "figures").mkdir()
    monkeypatch.setattr(course.os, "access", lambda path, mode: False)
    assert course.main(["lab"]) == 0                   # what is set up starts all the same
    assert "everything runs, and nothing that you change is saved" in capfd.readouterr().out
    (repository / "requirements.txt").write_text("a==2\n", encoding="utf-8")
    git(repository, "remote", "add", "origin", "git@github.com:ada/ffn.git")
    for command in ("lab", "run", "test", "refresh", "figures", "stamp"):
        assert course.main([command]) == 1
        assert "cannot be written to, so no" in capfd.readouterr().err
    assert installs == ["venv", ("requirements.txt",)]


def test_a_second_set_up_at_once_waits_and_finds_it_done(installs, repository, monkeypatch):
    """The first is another process, killed while the second waits: its lock dies with it."""
    holder = subprocess.Popen([sys.executable, "-c", "import course, time; file = open('.venv.lock', 'ab'); print(course.locked(file), flush=True); time.sleep(60)"],
                              cwd=repository, env=dict(os.environ, PYTHONPATH=str(Path(course.__file__).parent)), stdout=subprocess.PIPE)
    waits = []

    def sleep(seconds):
        waits.append(list(installs))
        if len(waits) == 2:
            python = course.venv_python(repository / ".venv")
            python.parent.mkdir(parents=True)
            python.touch()
            (repository / ".venv" / "set-up.json").write_text(json.dumps({"requirements.txt": course.fingerprint("requirements.txt")}), encoding="utf-8")
            holder.kill()
            holder.wait()
    monkeypatch.setattr(course.time, "sleep", sleep)
    try:
        assert holder.stdout.readline().strip() == b"True"
        course.set_up(course.LAB_FILES)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert waits[:2] == [[], []] and installs == []


def test_who_waits_for_a_set_up_is_told_so(installs, monkeypatch, capsys):
    tries = iter([False, False, True])
    monkeypatch.setattr(course, "locked", lambda file: next(tries))
    monkeypatch.setattr(course.time, "sleep", lambda seconds: None)
    course.set_up(course.LAB_FILES)
    assert capsys.readouterr().out.startswith("Another set-up is running") and len(installs) == 2


def test_where_no_lock_can_be_written_the_set_up_goes_on(installs, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")
    monkeypatch.setattr(course, "open", refuse, raising=False)
    course.set_up(course.LAB_FILES)
    assert installs == ["venv", ("requirements.txt",)]


def test_git_ignores_what_a_set_up_makes(installs, repository):
    shutil.copy(Path(course.__file__).with_name(".gitignore"), repository)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "before")
    course.set_up(course.TEST_FILES)
    assert {".venv", ".venv.lock"} <= {path.name for path in repository.iterdir()}
    assert subprocess.run(["git", "status", "--porcelain"], cwd=repository, capture_output=True, check=True).stdout == b""


def test_a_python_that_may_not_be_seen_is_replaced(installs, repository, monkeypatch):
    """The environment of another user, whose Python lies in a folder that only that user opens."""
    course.set_up(course.LAB_FILES)
    python, stat = course.venv_python(repository / ".venv"), course.os.stat

    def refuse(path, *args, **options):
        if path in (python, str(python)) and len(installs) == 2:
            raise PermissionError(13, "Permission denied")
        return stat(path, *args, **options)
    monkeypatch.setattr(course.os, "stat", refuse)
    course.set_up(course.LAB_FILES)
    assert installs[2:] == ["venv", ("requirements.txt",)]


def test_changed_requirements_are_installed(installs, repository):
    course.set_up(course.LAB_FILES)
    (repository / "requirements.txt").write_text("a==2\n", encoding="utf-8")
    course.set_up(course.LAB_FILES)
    assert installs == ["venv", ("requirements.txt",), ("requirements.txt",)]


def test_an_interrupted_set_up_is_begun_anew(installs, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(course, "pip_install", lambda python, files: (1, "[Errno 28] No space left on device"))
        with pytest.raises(course.Problem, match="disk is full"):
            course.set_up(course.LAB_FILES)
    course.set_up(course.LAB_FILES)
    assert installs == ["venv", "venv", ("requirements.txt",)]


def test_a_set_up_that_pip_refused_harms_nothing(installs, repository, monkeypatch):
    course.set_up(course.LAB_FILES)
    old = (repository / "requirements.txt").read_text(encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(course, "pip_install", lambda python, files: (1, "connection broken"))
        (repository / "requirements.txt").write_text("a==2\n", encoding="utf-8")
        with pytest.raises(course.Problem, match="could not reach"):
            course.set_up(course.LAB_FILES)
    (repository / "requirements.txt").write_text(old, encoding="utf-8")
    course.set_up(course.LAB_FILES)
    assert installs == ["venv", ("requirements.txt",)]


def test_arguments_reach_pytest_and_jupyter_in_order():
    args, rest = course.parser().parse_known_args(["test", "--colab", "-k", "a or b", "tests/x.py", "-x"])
    assert args.colab and rest == ["-k", "a or b", "tests/x.py", "-x"]
    args, rest = course.parser().parse_known_args(["lab", "--", "--no-browser", "--port", "9"])
    assert [part for part in rest if part != "--"] == ["--no-browser", "--port", "9"]


def test_the_test_command_runs_everything_and_ends_as_pytest_does(monkeypatch):
    commands = []
    monkeypatch.setattr(course, "set_up", lambda files, folder=".venv": "python")
    monkeypatch.setattr(course, "run", lambda command: commands.append(command) or 3)
    for chromium, left_out in [("chromium", []), (None, ["--ignore=tests/browser"])]:
        monkeypatch.setattr(course.shutil, "which", lambda name: chromium)
        assert course.main(["test", "-x"]) == 3
        assert commands.pop() == ["python", "-m", "pytest", "-n", "3", "--dist", "loadfile", "--no-loadscope-reorder", *left_out, "-x"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_ci_ends_as_the_test_command_does(tmp_path):
    for name in ("python3", "chromium"):               # with a Chromium nothing is installed
        (tmp_path / name).write_text('#!/bin/sh\nprintf "%s|" "$@"\nexit 3\n', encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(["bash", str(Path(course.__file__).parent / ".ci" / "run"), "-k", "a or b"], capture_output=True, encoding="utf-8",
                          env=dict(os.environ, PATH=str(tmp_path) + os.pathsep + os.environ["PATH"]))
    assert (done.returncode, done.stdout) == (3, "course.py|test|-k|a or b|")


# ---------------------------------------------------------------- stamp

@pytest.mark.parametrize("url, slug", [
    ("https://github.com/ada/ffn-course.git", "ada/ffn-course"),
    ("https://github.com/ada/ffn.course", "ada/ffn.course"),
    ("https://token@github.com/ada/ffn/", "ada/ffn"),
    ("git@github.com:ada/ffn.git", "ada/ffn"),
    ("ssh://git@github.com/ada/ffn.git", "ada/ffn"),
    ("ssh://git@github.com:22/ada/ffn", "ada/ffn"),
    ("/srv/git/ffn.git", None),
    ("https://gitlab.com/ada/ffn.git", None),
    ("https://github.com.example.org/ada/ffn.git", None),
    ("", None),
])
def test_slug_of(url, slug):
    assert course.slug_of(url) == slug


def test_stamp_without_a_github_remote_changes_nothing(repository, capsys):
    assert course.main(["stamp"]) == 0
    assert "OWNER/REPO stays" in capsys.readouterr().out
    assert subprocess.run(["git", "diff", "--quiet"], cwd=repository).returncode == 0
    assert course.main(["stamp", "--check"]) == 0


def test_stamp_writes_the_slug_and_nothing_else(repository):
    path = repository / "notebooks" / "01_a.ipynb"
    before = {file: file.read_bytes() for file in (path, repository / "README.md", repository / "docs" / "teaching.md")}
    git(repository, "remote", "add", "origin", "git@github.com:ada/ffn.git")
    assert course.main(["stamp", "--check"]) == 1
    assert course.main(["stamp"]) == 0
    for file, old in before.items():
        assert file.read_bytes() == old.replace(b"OWNER/REPO", b"ada/ffn").replace(b"OWNER%2FREPO", b"ada%2Fffn")
    assert b"someone/else" in (repository / "README.md").read_bytes()
    assert course.main(["stamp", "--check"]) == 0


def test_stamp_check_finds_files_that_disagree(repository, capsys):
    readme = repository / "README.md"
    readme.write_text(readme.read_text(encoding="utf-8").replace("gh/OWNER/REPO", "gh/ada/ffn"), encoding="utf-8")
    assert course.main(["stamp", "--check"]) == 1
    assert "README.md names OWNER/REPO, ada/ffn" in capsys.readouterr().out


def test_this_repository_names_itself_in_one_way():
    names = {path.name: course.slugs_in(path.read_text(encoding="utf-8")) for path in course.named_in()}
    assert len({name for found in names.values() for name in found}) <= 1
    assert {"README.md", "teaching.md"} <= {path for path, found in names.items() if found}


# ---------------------------------------------------------------- run and refresh

def edit(path, change):
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def no_kernel(monkeypatch):
    """Stand in for the kernel: every cell prints 2."""
    def execute(book, folder):
        book = nbformat.from_dict(book)
        for cell in book.cells:
            cell.outputs = [nbformat.v4.new_output("stream", text="2\n")]
        return book
    monkeypatch.setattr(tool, "execute", execute)


def test_refresh_refuses_a_source_that_is_not_committed(repository, monkeypatch):
    no_kernel(monkeypatch)
    path = repository / "notebooks" / "01_a.ipynb"
    edit(path, lambda book: book["cells"][1].update(source=["print(my_answer)"]))
    typed = path.read_bytes()
    with pytest.raises(tool.Failed, match="not committed"):
        tool.refresh(path)
    assert path.read_bytes() == typed
    tool.refresh(path, edited=True)
    assert b"my_answer" in path.read_bytes() and b"2\\n" in path.read_bytes()


def test_refresh_refuses_an_untracked_notebook(repository, monkeypatch):
    no_kernel(monkeypatch)
    path = repository / "notebooks" / "02_b.ipynb"
    path.write_bytes((repository / "notebooks" / "01_a.ipynb").read_bytes())
    with pytest.raises(tool.Failed, match="not in the last commit"):
        tool.refresh(path)


def test_refresh_accepts_changed_outputs_and_leaves_no_other_file(repository, monkeypatch):
    no_kernel(monkeypatch)
    path = repository / "notebooks" / "01_a.ipynb"
    edit(path, lambda book: book["cells"][0].update(execution_count=77, outputs=[], metadata={"execution": {"t": 1}}))
    tool.refresh(path)
    once = path.read_bytes()
    tool.refresh(path)
    assert path.read_bytes() == once
    assert [file.name for file in path.parent.iterdir()] == ["01_a.ipynb"]


def test_refresh_does_not_overwrite_what_was_saved_meanwhile(repository, monkeypatch):
    path = repository / "notebooks" / "01_a.ipynb"

    def execute(book, folder):
        path.write_bytes(path.read_bytes().replace(b"1 + 1", b"1 + 2"))
        return book
    monkeypatch.setattr(tool, "execute", execute)
    with pytest.raises(tool.Failed, match="not overwritten"):
        tool.refresh(path)
    assert b"1 + 2" in path.read_bytes()
    assert [file.name for file in path.parent.iterdir()] == ["01_a.ipynb"]


def test_a_failing_cell_is_named_and_nothing_written(repository, capsys):
    path = repository / "notebooks" / "01_a.ipynb"
    path.write_text(tool.dumps(notebook("x = 1", "x / 0")), encoding="utf-8")
    before = path.read_bytes()
    assert tool.main(["refresh", "01", "--edited"], folder=path.parent) == 1
    assert "cell [2] raised ZeroDivisionError: division by zero" in capsys.readouterr().out
    assert path.read_bytes() == before


def test_a_kernel_that_does_not_answer_is_a_failure_like_others(repository, monkeypatch, capsys):
    spec = repository / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": [sys.executable, "-c", "import time; time.sleep(60)"], "display_name": "mute"}), encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(repository))
    monkeypatch.setattr(tool, "NotebookClient", functools.partial(tool.NotebookClient, startup_timeout=0))
    assert tool.main(["run"], folder=repository / "notebooks") == 1
    assert "FAILED: Kernel didn't respond in 0 seconds" in capsys.readouterr().out


def test_normal_form():
    book = notebook("1")
    stream = {"output_type": "stream", "name": "stdout"}
    book.metadata["widgets"] = {"state": {}}
    book.metadata["language_info"] = {"name": "python", "version": "3.12.1"}
    book.cells[0].metadata = nbformat.from_dict({"tags": ["long-lesson"], "execution": {"t": 1}})
    book.cells[0].outputs = nbformat.from_dict([
        {**stream, "text": "a"}, {**stream, "text": "b\n"},
        {"output_type": "display_data", "metadata": {}, "data": {tool.WIDGET_VIEW: {"model_id": "1"}}},
        {"output_type": "execute_result", "metadata": {}, "execution_count": 9,
         "data": {tool.WIDGET_VIEW: {"model_id": "2"}, "text/html": "<img>"}}])
    tool.normalise(book)
    assert book.metadata == tool.NOTEBOOK_METADATA
    assert book.cells[0].metadata == {"tags": ["long-lesson"]}
    assert book.cells[0].outputs == [
        {**stream, "text": "ab\n"},
        {"output_type": "execute_result", "metadata": {}, "execution_count": 1, "data": {"text/html": "<img>"}}]


@pytest.mark.parametrize("text", ["", "[]", "null", '{"half'])
def test_a_record_that_cannot_be_read_means_unfinished(tmp_path, text):
    record = tmp_path / "set-up.json"
    assert course.recorded(record) == {}
    record.write_text(text, encoding="utf-8")
    assert course.recorded(record) == {"unfinished": True}
