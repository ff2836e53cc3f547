import argparse
import sys
from pathlib import Path

from course import PLACEHOLDER
from tools.pages.build import ROOT, Course, Refused, build

parser = argparse.ArgumentParser(prog="course.py site", description="Build the course as plain web pages.")
parser.add_argument("--out", type=Path, required=True, help="folder to build")
out = parser.parse_args().out
try:
    names = build(ROOT, out)
except Refused as refusal:
    sys.exit(str(refusal))
if Course(ROOT).slug is None:
    print(f"No address yet: links to Colab and Binder hold {PLACEHOLDER}. python3 course.py stamp writes it.")
print(f"{len(names)} files in {out}; look at them with: python3 -m http.server -d {out}")
