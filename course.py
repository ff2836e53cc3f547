#!/usr/bin/env python3
"""One script for everything around the course, with nothing to install first.

    python3 course.py lab        set up .venv, open JupyterLab on the first notebook
    python3 course.py test       set up .venv, run what CI runs

It needs Python 3.11 or newer and uses the standard library only. Everything that
it installs goes into `.venv`; deleting that folder undoes it.
"""
import argparse
import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

if os.name == "nt":
    import msvcrt
else:
    import fcntl

ROOT = Path(__file__).resolve().parent
OLDEST = (3, 11)
START = "notebooks/00_start_here.ipynb"
LAB_FILES = ["requirements.txt"]
TEST_FILES = ["requirements.txt", "tests/requirements.txt"]
COLAB_FILES = ["tests/requirements-colab.txt"]
PLACEHOLDER = "OWNER/REPO"
HOSTED = "The notebooks also run on Colab and Binder, with nothing to install: see the badges in README.md."


class Problem(Exception):
    """Something that the user can put right; its text says how."""


# ---------------------------------------------------------------- set-up

def check_python():
    if sys.version_info < OLDEST:
        raise Problem("This course needs Python %d.%d or newer; this is %d.%d (%s).\n"
                      "Start course.py with a newer one, for example: python3.12 course.py lab\n%s"
                      % (OLDEST + tuple(sys.version_info[:2]) + (sys.executable, HOSTED)))
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        raise Problem("This Python (%s) comes without %s, so no environment can be made.\n"
                      "On Debian or Ubuntu: sudo apt install python3-venv\n"
                      "Elsewhere: install Python from python.org." % (sys.executable, " and ".join(missing)))


def venv_python(venv):
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def fingerprint(name):
    """What an installed requirements file depends on: its text and this Python's version."""
    return hashlib.sha256(b"%d.%d " % sys.version_info[:2] + (ROOT / name).read_bytes()).hexdigest()


def writable(folder="."):
    return os.access(str(ROOT / folder), os.W_OK)


def must_write(folder, what):
    if not writable(folder):
        raise Problem("%s cannot be written to, so %s.\n"
                      "Copy the course to a folder of your own and start course.py there." % (ROOT / folder, what))


def set_up(files, folder=".venv"):
    """Make `folder` hold what `files` pin, and return its Python. Skipped when nothing has changed."""
    check_python()
    venv = ROOT / folder
    wanted = {name: fingerprint(name) for name in files}
    if not holds(venv, wanted):
        must_write(folder if venv.exists() else ".", "nothing can be installed")
        with alone(ROOT / (folder + ".lock")):
            if not holds(venv, wanted):
                install(venv, wanted)
    return venv_python(venv)


def holds(venv, wanted):
    # Not Path.exists, which raises where the Python that a link leads to may not be seen.
    return os.path.exists(str(venv_python(venv))) and wanted.items() <= recorded(venv / "set-up.json").items()


@contextlib.contextmanager
def alone(path):
    """Wait for any other set-up, which would clear the environment under this one's pip."""
    try:
        file = open(str(path), "ab")
    except PermissionError:  # the environment is ours and the folder around it is not
        yield
        return
    with file:
        if not locked(file):
            print("Another set-up is running; this one waits for it to end", flush=True)
            while not locked(file):
                time.sleep(0.2)
        yield


def locked(file):
    """Try to lock a file until it is closed, at the latest when its process ends; False when another holds it."""
    try:
        if os.name == "nt":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks
        pass
    return True


def install(venv, wanted):
    """Make the environment where there is none that starts, and let pip install the files in `wanted`.

    `set-up.json` in the folder says what is installed, as fingerprints by file. While pip works it says
    "unfinished", so that an interrupted set-up is begun anew rather than trusted.
    """
    python, record = venv_python(venv), venv / "set-up.json"
    done = recorded(record)
    if "unfinished" in done or not runs_pip(python):
        print("Making %s (Python %d.%d)" % ((venv.name,) + sys.version_info[:2]), flush=True)
        done = {}
        if run([sys.executable, "-m", "venv", "--clear", venv]):
            raise Problem(explain_failure("") or "`%s -m venv` failed; its message is above." % sys.executable)
    print("Installing %s into %s; the first time takes minutes" % (" and ".join(wanted), venv.name), flush=True)
    record.write_text('{"unfinished": true}', encoding="utf-8")
    code, errors = pip_install(python, list(wanted))
    if code:
        if not disk_full(errors):  # pip looks everything up before it changes anything: nothing was harmed
            record.write_text(json.dumps(done), encoding="utf-8")
        raise Problem(explain_failure(errors) or "pip could not install %s; its message is above." % " ".join(wanted))
    done.update(wanted)
    record.write_text(json.dumps(done, indent=1), encoding="utf-8")


def recorded(path):
    """What set-up.json says; a file that cannot be read, half written perhaps, says "unfinished"."""
    try:
        done = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, PermissionError):
        done = None
    return done if isinstance(done, dict) else {"unfinished": True}


def runs_pip(python):
    """Is there an environment of this very Python version, with a pip that starts?"""
    same = "import sys, pip; sys.exit(sys.version_info[:2] != %r)" % (tuple(sys.version_info[:2]),)
    return os.path.exists(str(python)) and run([python, "-c", same], quiet=True) == 0


def pip_install(python, files):
    """Run pip; its errors are shown as they come and returned, so that the closing advice fits them."""
    command = [str(python), "-m", "pip", "install", "--retries", "2"]
    for name in files:
        command += ["-r", name]
    errors = []
    with subprocess.Popen(command, cwd=str(ROOT), env=dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1"),
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace") as pip:
        for line in pip.stderr:
            sys.stderr.write(line)
            errors.append(line)
    return pip.returncode, "".join(errors)


def disk_full(errors):
    return "No space left" in errors or "Errno 28" in errors or shutil.disk_usage(str(ROOT)).free < 100e6


def explain_failure(errors):
    """The advice for pip's error text, or None when it is not one of the common ones."""
    if disk_full(errors):
        return ("The disk is full: the environment takes about 2 GB, or 8 GB where torch comes with CUDA.\n"
                "Make room and run the same command again.")
    if re.search(r"(?i)connection|\b(?:resolve|name or service|network|timed out|getaddrinfo|proxy)\b", errors):
        return ("pip could not reach its package index. Check the network (behind a proxy: set HTTPS_PROXY)\n"
                "and run the same command again.")
    if "No matching distribution" in errors:
        return ("One of the pinned packages has no build for this machine or this Python (%d.%d).\n"
                "Python 3.11 to 3.13 on Linux, Windows and Apple silicon have them; Intel Macs have no current torch.\n%s"
                % (sys.version_info[:2] + (HOSTED,)))
    return None


def run(command, quiet=False):
    """Run a command from the repository's root and return its exit code."""
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} if quiet else {}
    sys.stdout.flush()
    try:
        return subprocess.call([str(part) for part in command], cwd=str(ROOT), **silent)
    except KeyboardInterrupt:
        return 130
    except OSError:
        return 127


# ---------------------------------------------------------------- commands

def lab(args, rest):
    python = set_up(LAB_FILES)
    if not writable("notebooks"):
        print("%s cannot be written to: everything runs, and nothing that you change is saved." % ROOT, flush=True)
    # The repository is the server's root: with notebooks/ as root, ../figures would lie outside.
    # Jupyter refuses to run as root until it is told so; in a container there is no one else to be.
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return run([python, "-m", "jupyterlab", "--LabApp.default_url=/lab/tree/" + START] + root + rest)


def test(args, rest):
    """Everything in one pytest: the tests, and every notebook under strict nbval (flags in pyproject.toml)."""
    python = set_up(COLAB_FILES, ".venv-colab") if args.colab else set_up(TEST_FILES)
    left_out = None
    if args.colab:
        left_out = "browser tests (they belong to the pinned JupyterLab, not to Colab's versions)"
    elif not any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        left_out = "browser tests (no Chromium; on Debian: sudo apt install chromium)"
    ignore = ["--ignore=tests/browser"] if left_out else []
    # Three workers on two cores: the one with the browser mostly waits.
    code = run([python, "-m", "pytest", "-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"] + ignore + rest)
    if ignore:
        print("Left out: " + left_out)
    return code


def notebooks(args, rest):
    """run and refresh: the work is done by tools/notebooks.py inside the environment."""
    if args.command == "refresh":
        must_write("notebooks", "no output can be stored")
    options = ["--edited"] if getattr(args, "edited", False) else []
    return run([set_up(LAB_FILES), ROOT / "tools" / "notebooks.py", args.command] + args.names
               + options + ["--jobs", args.jobs])


def site(args, rest):
    return run([set_up(TEST_FILES), "-m", "tools.pages", "--out", args.out.resolve()])


def figures(args, rest):
    must_write("figures", "no picture can be stored")
    return run([set_up(LAB_FILES), "-m", "figures"] + rest)


# ---------------------------------------------------------------- the repository's address

# Every place that names the repository: badges, the clone line, a hub's link (percent-encoded), the notebooks'
# first code cell (whose quotes are escaped in the notebook's JSON).
SLUG = re.compile(r"""((?:colab\.research\.google\.com/github/ | mybinder\.org/v2/gh/ | nbviewer\.org/github/
                       | kernels/welcome\?src=https://github\.com/ | git\ clone\ https://github\.com/
                       | git-pull\?repo=https%3A%2F%2Fgithub\.com%2F | \bSLUG\ =\ \\?"))
                       ([\w.-]+(?:/|%2F)[\w.-]+?)(?=\.git\b|[/"\\\s)&]|$)""", re.VERBOSE)


def slug_of(url):
    """OWNER/REPO of a GitHub address (https, ssh, scp-like; with or without .git), else None."""
    match = re.match(r"(?:https?://(?:[^@/]+@)?|ssh://git@|git://|git@)(?:www\.)?github\.com(?::\d+)?[:/]"
                     r"([\w.-]+/[\w.-]+?)(?:\.git)?/?$", url.strip())
    return match.group(1) if match else None


def origin():
    """The address of the remote `origin`, or an empty string."""
    try:
        return subprocess.run(["git", "remote", "get-url", "origin"], cwd=str(ROOT), stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, encoding="utf-8").stdout.strip()
    except OSError:
        return ""


def named_in():
    """The files that may name the repository."""
    return [path for kind in ("*.md", "docs/*.md", "notebooks/*.ipynb") for path in sorted(ROOT.glob(kind))]


def slugs_in(text):
    """Every OWNER/REPO by which a text names the repository."""
    return sorted({match.group(2).replace("%2F", "/") for match in SLUG.finditer(text)})


def stamped(text, slug):
    """The text with `slug` wherever it names the repository."""
    return SLUG.sub(lambda match: match.group(1) + (slug.replace("/", "%2F") if "%2F" in match.group(2) else slug), text)


def stamp(args, rest):
    url = origin()
    slug = slug_of(url)
    # Bytes in, bytes out: line endings and the notebooks' JSON stay as they are.
    texts = {path: path.read_bytes().decode("utf-8") for path in named_in()}
    found = {path: slugs_in(text) for path, text in texts.items()}
    if slug is None:
        print("No GitHub address in the remote `origin` (%s): %s stays where it is." % (url or "none", PLACEHOLDER))
    if args.check:
        names = sorted({name for names in found.values() for name in names})
        right = slug or (names[0] if len(names) == 1 else PLACEHOLDER)
        wrong = [(path, names) for path, names in found.items() if names and names != [right]]
        for path, names in wrong:
            print("%s names %s, expected %s" % (path.relative_to(ROOT), ", ".join(names), right))
        if not wrong:
            print("%d files agree on %s" % (sum(map(bool, found.values())), right))
        return 1 if wrong else 0
    if slug:
        must_write("notebooks", "no address can be stored")
        for path, text in texts.items():
            new = stamped(text, slug)
            if new != text:
                path.write_bytes(new.encode("utf-8"))
                print("%s: %s" % (path.relative_to(ROOT), slug))
    return 0


# ---------------------------------------------------------------- command line

def parser():
    top = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = top.add_subparsers(dest="command", metavar="command")

    def command(name, function, text):
        sub = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        sub.set_defaults(function=function)
        return sub

    command("lab", lab, "open JupyterLab on the first notebook; further arguments go to jupyter lab")
    sub = command("test", test, "run what CI runs; further arguments go to pytest")
    sub.add_argument("--colab", action="store_true", help="with Colab's package versions, in .venv-colab")
    sub = command("run", notebooks, "execute every notebook without a browser and write nothing")
    sub.add_argument("names", nargs="*", help="notebooks, by the beginning of their names (default: all)")
    sub.add_argument("--jobs", default="2", choices=["1", "2", "3", "4"], help="notebooks at a time (default 2; 1 for clean timings)")
    sub = command("refresh", notebooks, "execute notebooks and store their outputs")
    sub.add_argument("names", nargs="*", help="notebooks, by the beginning of their names (default: all)")
    sub.add_argument("--edited", action="store_true", help="also those whose source has uncommitted changes")
    sub.add_argument("--jobs", default="2", choices=["1", "2", "3", "4"], help="notebooks at a time (default 2)")
    command("figures", figures, "rebuild the PNG files in figures/; names of pictures, or all")
    sub = command("site", site, "build the course as plain web pages, for readers without a kernel")
    sub.add_argument("--out", type=Path, default=ROOT / "_site", help="folder to build (default _site)")
    sub = command("stamp", stamp, "write the repository's OWNER/REPO into badges, links and first cells")
    sub.add_argument("--check", action="store_true", help="write nothing; fail where they disagree")
    return top


def main(argv=None):
    top = parser()
    args, rest = top.parse_known_args(argv)
    if args.command is None:
        top.print_help()
        return 2
    if rest and args.command in ("run", "refresh", "site", "stamp"):
        top.error("unknown arguments: " + " ".join(rest))
    try:
        return args.function(args, [part for part in rest if part != "--"])
    except Problem as problem:
        print("\n" + str(problem), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a path in Chinese must not end the script in a Western code page
    sys.exit(main())
