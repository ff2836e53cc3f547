"""binder/: repo2docker understands it, and it installs what requirements.txt pins. No Docker is needed."""
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pins(path):
    return dict(re.findall(r"^([\w-]+)==([\w.]+)", path.read_text(encoding="utf-8"), re.M))


def test_the_versions_are_those_of_requirements_txt():
    here, binder = pins(ROOT / "requirements.txt"), pins(ROOT / "binder" / "requirements.txt")
    assert binder == {name: version for name, version in here.items() if name != "nbval"}


def test_torch_can_only_be_the_small_build():
    assert re.search(r"^torch==[\d.]+\+cpu$", (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8"), re.M)


@pytest.mark.skipif(find_spec("repo2docker") is None, reason="jupyter-repo2docker is not installed")
def test_repo2docker_generates_the_image_description():
    done = subprocess.run([sys.executable, "-m", "repo2docker", "--no-build", "--debug", str(ROOT)],
                          capture_output=True, encoding="utf-8", timeout=120)
    description = done.stdout + done.stderr
    assert done.returncode == 0, description[-2000:]
    assert "Building conda environment for python=3.12" in description
    assert "pip install --no-cache-dir -r \"binder/requirements.txt\"" in description
    assert 'R2D_ENTRYPOINT="${REPO_DIR}/binder/start"' in description
