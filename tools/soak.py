"""Run the whole regression again and again, and count what fails: `python tools/soak.py 20 [arguments for pytest]`.

Each run is the test command of the README, in a fresh pytest. A test that fails in some runs and not in others hangs on
time, order or the last bit. Prints a line for each run and what its failures said, then failures by test; exit code 1 if
there was any.
"""
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent


def once(report, arguments):
    """Run the tests; returns (how many ran, what failed: {name: all that pytest said about it})."""
    command = [sys.executable, str(ROOT / "course.py"), "test", "--", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *arguments]
    code = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL).returncode
    if not report.exists():
        return 0, {"the run itself": f"exit code {code}"}
    names, failed = set(), {}      # by name: a test that fails and whose teardown fails too stands twice in the report
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        names.add(name)
        for said in (*case.iter("failure"), *case.iter("error")):
            failed[name] = f"{failed[name]}\n{said.text}" if name in failed else said.text
    return len(names), failed or ({"the run itself": f"exit code {code}"} if code else {})


def main(times, *arguments):
    failures, ran, start = Counter(), 0, time.monotonic()
    for number in range(1, int(times) + 1):
        with tempfile.TemporaryDirectory() as folder:
            count, failed = once(Path(folder) / "report.xml", arguments)
        failures.update(failed.keys())
        ran += count
        print(f"run {number:3}: {count:,} tests, {len(failed)} failed, {time.monotonic() - start:,.0f} s so far", *(f"    {name}\n{said}" for name, said in failed.items()), sep="\n", flush=True)
    for name, count in failures.most_common():
        print(f"{count:3} of {times}  {name}")
    print(f"{times} runs, {ran:,} tests, {sum(failures.values())} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if sys.argv[1:2] and sys.argv[1].isdecimal() else __doc__)
