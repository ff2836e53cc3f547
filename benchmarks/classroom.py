#!/usr/bin/env python3
"""A class on one machine: a hub, its proxy, and learners who move notebook 02's first explorer all at once.

    python3 benchmarks/classroom.py                 ten learners, one of them a real page in Chromium; about 5 minutes
    python3 benchmarks/classroom.py --pull          what the hub's link does with a learner's changes; about 1 minute
    python3 benchmarks/classroom.py --set-up        only make .venv-class, which docs/teaching.md starts its hub from

Needs Linux. Everything is installed into `.venv-class`; hub, learners and their copies of the course (of the last
commit) live in a temporary folder and end with the script, however it ends. A learner without a page speaks the
kernel's protocol through the proxy as JupyterLab does: websocket v1, one update of a slider under way at a time.
"""
import argparse
import asyncio
import json
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import types
import urllib.parse
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import course

VENV = ROOT / ".venv-class"
FILES = ["requirements.txt", "benchmarks/requirements-class.txt"]
# JupyterHub's usual proxy: it passes events on as they come, which nbgitpuller's page lives on.
PROXY = "configurable-http-proxy@5.3.0"
PASSWORD = "class-of-ten"
NOTEBOOK = "course/notebooks/02_one_token_by_hand.ipynb"
PACES = {"everyone looks": 1.5, "everyone drags": 0.25}      # seconds between two changes of one learner
PROTOCOL = "v1.kernel.websocket.jupyter.org"


def set_up():
    """Make .venv-class, with the proxy in it, and return its Python."""
    python = course.set_up(FILES, VENV.name)
    package = VENV / "node_modules" / PROXY.split("@")[0] / "package.json"
    if not package.exists() or json.loads(package.read_text(encoding="utf-8"))["version"] != PROXY.split("@")[1]:
        npm = [VENV / "bin" / "npm", "install", "--no-audit", "--no-fund", "--no-save", "--prefix", VENV, PROXY]
        if course.run(npm):
            raise course.Problem("npm could not install %s; its message is above." % PROXY)
    return python


# ---------------------------------------------------------------- the hub

CONFIG = """
load_subconfig({config!r})
c.Spawner.args += ["--LabApp.expose_app_in_browser=True"] + ["--allow-root"] * (os.getuid() == 0)
c.JupyterHub.bind_url = "http://127.0.0.1:{0}"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{1}"
c.JupyterHub.hub_port = {2}
"""


class Hub:
    """JupyterHub with docs/jupyterhub_config.py in `folder`, and a bare repository of the course that it serves."""

    def __init__(self, folder):
        self.folder, self.homes, self.upstream = folder, folder / "learners", folder / "upstream.git"
        git(ROOT, "clone", "--quiet", "--bare", "--no-local", ROOT, self.upstream)
        git(self.upstream, "branch", "-f", "main", git(ROOT, "rev-parse", "HEAD"))
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
        ports = [probe.getsockname()[1] for probe in sockets]
        for probe in sockets:
            probe.close()
        self.url, self.link = f"http://127.0.0.1:{ports[0]}", link_to(f"file://{self.upstream}", "course", NOTEBOOK)
        config = folder / "jupyterhub_config.py"
        config.write_text("import os\n" + CONFIG.format(*ports, config=str(ROOT / "docs" / "jupyterhub_config.py")), encoding="utf-8")
        self.log = folder / "hub.log"
        with self.log.open("w", encoding="utf-8") as log:      # a session of its own: Ctrl-C reaches this script, which then stops the hub
            self.process = subprocess.Popen([VENV / "bin" / "jupyterhub", "-f", config], cwd=folder, stdout=log, stderr=log,
                                            start_new_session=True, env={**os.environ, "CLASS_PASSWORD": PASSWORD})

    def close(self):
        """Stop hub, proxy, servers and kernels; return how many processes had to be killed because they stayed."""
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            pass
        deadline = time.monotonic() + 10
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.2)
        for process in left:
            process.kill()
        return len(left)

    def processes(self):
        """Everything that works inside the folder, whoever its parent is by now."""
        import psutil
        found = []
        for process in psutil.process_iter():
            try:
                if Path(process.cwd()).is_relative_to(self.folder):
                    found.append(process)
            except (psutil.Error, OSError):
                pass
        return found


def git(folder, *command):
    who = ["-c", "user.name=teacher", "-c", "user.email=teacher@example.org"]
    return subprocess.run(["git", *who, *map(str, command)], cwd=folder, check=True, capture_output=True, encoding="utf-8").stdout.strip()


# ---------------------------------------------------------------- a learner

class Learner:
    """One account on the hub, by its forms and interfaces, with a browser's cookies."""

    def __init__(self, hub, name):
        import httpx
        self.hub, self.name, self.base, self.errors = hub, name, f"/user/{name}/", []
        self.http = httpx.AsyncClient(base_url=hub.url, follow_redirects=True, timeout=180)

    async def get(self, path):
        """A page, as a browser navigates to it."""
        answer = await self.http.get(path, headers={"Sec-Fetch-Mode": "navigate"})
        answer.raise_for_status()
        return answer

    async def ask(self, method, path, below, **more):
        """A call that a page makes; its cookies against forgery belong to the folder `below`."""
        token = next(cookie.value for cookie in self.http.cookies.jar if cookie.name == "_xsrf" and cookie.path == below)
        answer = await self.http.request(method, path, headers={"X-XSRFToken": token, "Sec-Fetch-Mode": "cors"}, **more)
        answer.raise_for_status()
        return answer

    async def log_in(self):
        form = await self.get("/hub/login")
        token = re.search(r'name="_xsrf" value="([^"]+)"', form.text).group(1)
        answer = await self.http.post("/hub/login", params={"next": "/hub/home"}, headers={"Sec-Fetch-Mode": "navigate"},
                                      data={"username": self.name, "password": PASSWORD, "_xsrf": token})
        answer.raise_for_status()
        assert answer.url.path == "/hub/home", f"not logged in: {answer.url}"

    async def start(self):
        """Start the server and open it; returns the seconds."""
        began = time.perf_counter()
        await self.ask("POST", f"/hub/api/users/{self.name}/server", "/hub/")
        while not (await self.ask("GET", f"/hub/api/users/{self.name}", "/hub/")).json()["servers"].get("", {}).get("ready"):
            await asyncio.sleep(0.2)
        await self.get(self.base + "lab")
        return time.perf_counter() - began

    async def pull(self):
        """Follow the hub's link: nbgitpuller clones or updates `course`. Returns the seconds and what it printed."""
        began = time.perf_counter()
        page = await self.get(self.hub.link)
        assert page.url.path == self.base + "git-pull"
        answer = await self.ask("GET", self.base + "git-pull/api", self.base, params=page.url.params)
        events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
        assert events[-1]["phase"] == "finished", f"the pull failed: {events[-1]}"
        return time.perf_counter() - began, "".join(event.get("output", "") for event in events)

    async def open_notebook(self):
        """Start a kernel for notebook 02, run all its cells; returns the seconds."""
        from tornado.httpclient import HTTPRequest
        from tornado.websocket import websocket_connect
        began = time.perf_counter()
        answer = await self.ask("POST", self.base + "api/sessions", self.base, json={
            "path": NOTEBOOK, "name": Path(NOTEBOOK).name, "type": "notebook", "kernel": {"name": "python3"}})
        request = self.http.build_request("GET", f"{self.base}api/kernels/{answer.json()['kernel']['id']}/channels")
        url = str(request.url.copy_with(scheme="ws").copy_add_param("session_id", "0"))
        headers = {"Cookie": request.headers["Cookie"], "Origin": self.hub.url, "Sec-Fetch-Mode": "websocket"}
        connection = await websocket_connect(HTTPRequest(url, headers=headers), subprotocols=[PROTOCOL],
                                             max_message_size=2 ** 26)
        assert connection.selected_subprotocol == PROTOCOL
        self.kernel = Kernel(connection)
        for cell in json.loads((self.hub.homes / self.name / NOTEBOOK).read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                await self.kernel.execute("".join(cell["source"]))
        return time.perf_counter() - began

    async def move(self, period, seconds):
        """Change the explorer's first slider every `period` seconds, from a random moment on; returns its changes."""
        slider = self.kernel.slider
        slider.count_anew()
        await asyncio.sleep(random.uniform(0, period))
        began = time.perf_counter()
        while (due := began + len(slider.changes) * period) < began + seconds:
            await asyncio.sleep(max(0, due - time.perf_counter()))
            slider.move()
        await slider.settled()
        return slider.changes


def link_to(repository, folder, path):
    """The hub's link that copies a repository into `folder` and opens a file of it in JupyterLab."""
    return "/hub/user-redirect/git-pull?" + urllib.parse.urlencode(
        {"repo": repository, "branch": "main", "targetpath": folder, "urlpath": f"lab/tree/{path}"})


# ---------------------------------------------------------------- the kernel's protocol

class Kernel:
    """A kernel behind a websocket, and the state of its widgets."""

    def __init__(self, connection):
        self.connection, self.session = connection, uuid.uuid4().hex
        self.models, self.explorer, self.slider, self.waiting = {}, None, None, {}
        self.errors, self.bytes, self.messages = [], 0, 0
        self.reader = asyncio.create_task(self.read())

    def send(self, kind, content):
        from jupyter_server.services.kernels.connection.base import serialize_msg_to_ws_v1
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": self.session, "username": "", "version": "5.4",
                  "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        self.connection.write_message(
            serialize_msg_to_ws_v1(message, "shell", lambda part: json.dumps(part).encode()), binary=True)
        return header["msg_id"]

    async def execute(self, code):
        asked = self.send("execute_request", {"code": code, "silent": False, "store_history": True, "user_expressions": {},
                                              "allow_stdin": False, "stop_on_error": True})
        self.waiting[asked] = {"execute_reply": asyncio.Future(), "idle": asyncio.Future()}
        await asyncio.wait_for(asyncio.gather(*self.waiting[asked].values()), 180)
        del self.waiting[asked]

    async def read(self):
        from jupyter_server.services.kernels.connection.base import deserialize_msg_from_ws_v1
        while (data := await self.connection.read_message()) is not None:
            now = time.perf_counter()
            channel, parts = deserialize_msg_from_ws_v1(data)
            header, parent, _, content = (json.loads(part) for part in parts[:4])
            self.bytes, self.messages = self.bytes + len(data), self.messages + (channel == "iopub")
            self.heard(header["msg_type"], parent.get("msg_id"), content, now, len(data))
        self.errors.append("the connection closed")

    def heard(self, kind, parent, content, now, size):
        data = content.get("data", {})
        if kind == "comm_open":
            self.models[content["comm_id"]] = dict(data["state"])
        elif kind == "comm_msg" and data["method"] == "update":
            self.models[content["comm_id"]].update(data["state"])
            if self.slider and content["comm_id"] == self.slider.live and "value" in data["state"]:
                self.slider.shown(parent, now, size)
        elif kind == "error":
            self.errors.append(f"{content['ename']}: {content['evalue']}")
        elif kind == "stream" and content["name"] == "stderr":      # the server's rate limits speak here too
            self.errors.append(content["text"])
        elif kind == "execute_result" and not self.slider:
            view = data.get("application/vnd.jupyter.widget-view+json")
            self.slider = Slider(self, view["model_id"]) if view else None
        done = "idle" if content.get("execution_state") == "idle" else kind
        if done in self.waiting.get(parent, {}):
            self.waiting[parent][done].set_result(None)
        if done == "idle" and self.slider:
            self.slider.idle(parent)


class Slider:
    """An explorer's first slider, moved as ipywidgets' front end does: while one message is under way, only the newest value waits."""

    def __init__(self, kernel, explorer):
        self.kernel, self.queued, self.under_way, self.sent, self.last = kernel, [], None, {}, -1
        self.count_anew()
        below = lambda name: [child.removeprefix("IPY_MODEL_") for child in kernel.models[name].get("children", [])]
        every = [explorer]
        for name in every:
            every += below(name)
        self.live = next(name for name in every if "ffn-live" in kernel.models[name].get("_dom_classes", []))
        pairs = [below(name) for name in every if len(below(name)) == 2]
        self.box, self.id = next(pair for pair in pairs if kernel.models[pair[1]]["_model_name"] == "FloatSliderModel")
        model = kernel.models[self.id]
        self.low, self.step, self.steps = model["min"], model["step"], round((model["max"] - model["min"]) / model["step"])
        self.turn = round((model["value"] - self.low) / self.step)      # a first step to where it stands would draw nothing

    def count_anew(self):
        self.changes, self.sizes, self.out_of_order, self.wrong = [], [], 0, 0

    def move(self):
        """The next step, and from the last to the first: changes that go together never end where the picture is already."""
        self.turn = (self.turn + 1) % (self.steps + 1)
        change = types.SimpleNamespace(value=round(self.low + self.turn * self.step, 6), at=time.perf_counter(), shown=None)
        self.changes.append(change)
        self.queued.append(change)
        if self.under_way is None:
            self.send()

    def send(self):
        content = {"comm_id": self.id, "data": {"method": "update", "state": {"value": self.queued[-1].value}, "buffer_paths": []}}
        self.under_way = self.kernel.send("comm_msg", content)
        self.sent[self.under_way], self.queued = (len(self.sent), self.queued), []

    def shown(self, parent, now, size):
        """A new picture has come: it shows every change up to the newest in the message that it answers."""
        if parent not in self.sent:
            return
        number, changes = self.sent[parent]
        self.out_of_order += number <= self.last
        self.last = number
        self.sizes.append(size)
        self.wrong += float(self.kernel.models[self.box]["value"].replace("−", "-")) != changes[-1].value
        for change in changes:
            change.shown = now

    def idle(self, parent):
        if parent == self.under_way:
            self.under_way = None
            if self.queued:
                self.send()

    async def settled(self):
        deadline = time.perf_counter() + 60
        while self.under_way and time.perf_counter() < deadline:
            await asyncio.sleep(0.05)


# ---------------------------------------------------------------- one real page, in a process of its own

class Page:
    """The learner with Chromium: this script with --page, which reads "period seconds" and prints milliseconds."""

    @classmethod
    async def open(cls, hub, name):
        self = cls()
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, __file__, "--page", hub.url, hub.link, name, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    async def line(self):
        line = await asyncio.wait_for(self.process.stdout.readline(), 300)
        if not line:
            raise RuntimeError("the page ended; its message is above")
        return json.loads(line)

    async def move(self, period, seconds):
        self.process.stdin.write(f"{period} {seconds}\n".encode())
        return await self.line()

    async def close(self):
        import psutil
        below = psutil.Process(self.process.pid).children(recursive=True) if self.process.returncode is None else []
        self.process.stdin.close()                 # no more lines: the page closes its browser
        try:
            await asyncio.wait_for(self.process.wait(), 20)
        except asyncio.TimeoutError:
            self.process.kill()
            await self.process.wait()
        for process in psutil.wait_procs(below, timeout=5)[1]:
            process.kill()


def page(url, link, name):
    """Follow the hub's link to notebook 02, run it, and move its first explorer by key."""
    from playwright.sync_api import sync_playwright

    from benchmarks.explorers import PAINT
    from tests.browser.lab import CHROMIUM, FLAGS, Notebook
    with sync_playwright() as driver:
        tab = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS).new_page(viewport={"width": 1280, "height": 1600})
        tab.set_default_timeout(120_000)
        tab.goto(url + link)
        tab.fill("#username_input", name)
        tab.fill("#password_input", PASSWORD)
        tab.click("#login_submit")
        tab.wait_for_url(f"{url}/user/{name}/lab/tree/{NOTEBOOK}")
        tab.wait_for_function("window.jupyterapp?.shell?.currentWidget?.context?.isReady")      # the link has opened it
        began = time.perf_counter()
        notebook = Notebook(tab, types.SimpleNamespace(url=f"{url}/user/{name}"), NOTEBOOK)
        assert notebook.run_all(timeout=180) == []
        explorer = tab.locator(".ffn-explorer").first
        explorer.scroll_into_view_if_needed()
        handle = explorer.get_by_role("slider").first
        handle.focus()
        arguments = [explorer.element_handle(), handle.element_handle()]
        print(json.dumps(time.perf_counter() - began), flush=True)
        for line in sys.stdin:
            period, seconds = map(float, line.split())
            time.sleep(random.uniform(0, period))
            started, paints = time.perf_counter(), []
            while time.perf_counter() < started + seconds:
                due = time.perf_counter() + period
                paints.append(tab.evaluate(PAINT, arguments + ["ArrowRight" if len(paints) % 8 < 4 else "ArrowLeft"]))
                time.sleep(max(0, due - time.perf_counter()))
            print(json.dumps(paints), flush=True)


# ---------------------------------------------------------------- memory and processor

def kinds(hub):
    """The hub's processes by what they are: {(kind, learner): process}."""
    found = {}
    for process in hub.processes():
        command = " ".join(process.cmdline())
        kind = next((kind for kind, word in [("server", "jupyterhub-singleuser"), ("kernel", "ipykernel"),
                                             ("proxy", "configurable-http-proxy"), ("hub", "bin/jupyterhub")] if word in command), None)
        if kind:
            found[kind, process.environ().get("JUPYTERHUB_USER", "") if kind in ("server", "kernel") else ""] = process
    return found


def cpu(hub):
    """CPU seconds so far, by kind of process; `client` is this script without the page."""
    import psutil
    spent = {"client": sum(psutil.Process().cpu_times()[:2])}
    for (kind, _), process in kinds(hub).items():
        spent[kind] = spent.get(kind, 0) + sum(process.cpu_times()[:2])
    return spent


def memory(hub, learners):
    """Print what a learner takes, and what everything takes together."""
    full = {key: process.memory_full_info() for key, process in kinds(hub).items()}
    each = {kind: [full[kind, learner.name] for learner in learners] for kind in ("server", "kernel")}
    print("\n| MB | median | largest |\n|---|---|---|")
    for kind, sizes in [*each.items(), ("both", list(zip(*each.values())))]:
        for share in ("pss", "uss"):
            totals = [sum(getattr(part, share) for part in (size if kind == "both" else [size])) / 1e6 for size in sizes]
            print(f"| {kind}, {share.upper()} | {statistics.median(totals):.0f} | {max(totals):.0f} |")
    for kind in ("hub", "proxy"):
        print(f"| {kind}, PSS | {full[kind, ''].pss / 1e6:.0f} | |")
    print(f"| all together, PSS | {sum(size.pss for size in full.values()) / 1e6:.0f} | |", flush=True)


# ---------------------------------------------------------------- the run

def load():
    return "load " + " ".join(f"{part:.1f}" for part in os.getloadavg())


def spread(seconds):
    return f"{statistics.median(seconds):.1f} s at the median, {max(seconds):.1f} s the slowest"


def row(name, times, note=""):
    """Milliseconds from click to picture: median, 95th percentile, slowest."""
    times = sorted(times)
    return f"| {name} | {len(times)} | {statistics.median(times):.0f} | {times[int(0.95 * (len(times) - 1))]:.0f} | {times[-1]:.0f} | {note} |"


HEAD = "| who | changes | median ms | 95 % ms | slowest ms | |\n|---|---|---|---|---|---|"


def milliseconds(changes):
    return [1e3 * (change.shown - change.at) for change in changes if change.shown is not None]


async def ready(hub):
    import httpx
    async with httpx.AsyncClient() as http:
        for _ in range(600):
            if hub.process.poll() is not None:
                break
            try:
                (await http.get(hub.url + "/hub/api")).raise_for_status()
                return
            except httpx.HTTPError:
                await asyncio.sleep(0.1)
    raise RuntimeError("the hub did not start:\n" + hub.log.read_text(encoding="utf-8")[-3000:])


async def lesson(hub, options):
    """A class from the first login to the last change. Returns the number of faults."""
    await ready(hub)
    learners = [Learner(hub, f"learner-{number}") for number in range(1, options.learners + 1)]
    first, others, drawn, faults = learners[0], learners[1:], None, 0
    print(f"one learner alone ({load()})")
    await first.log_in()
    print(f"server started in {await first.start():.1f} s, course copied in {(await first.pull())[0]:.1f} s, "
          f"notebook 02 run in {await first.open_notebook():.1f} s")
    spent = cpu(hub)
    print(f"CPU seconds for that: server {spent['server']:.1f}, kernel {spent['kernel']:.1f}", flush=True)
    alone = milliseconds(await first.move(0.5, 15))
    print(f"{HEAD}\n{row('alone, twice a second', alone)}")

    print(f"\n{len(others)} more, all at once ({load()})")
    await asyncio.gather(*(learner.log_in() for learner in others))
    print("servers started in " + spread(await asyncio.gather(*(learner.start() for learner in others))), flush=True)
    spoken = others if options.no_page else others[:-1]
    copied = await asyncio.gather(*(learner.pull() for learner in spoken))
    print("course copied in " + spread([took for took, _ in copied]), flush=True)
    took = await asyncio.gather(*(learner.open_notebook() for learner in spoken))
    print("notebook 02 run in " + spread(took), flush=True)
    spoken = [first, *spoken]
    print(f"its messages: {spoken[-1].kernel.bytes / 1e3:.0f} kB")
    try:
        if not options.no_page:
            drawn = await Page.open(hub, others[-1].name)
            print(f"in the page, opened and run while the others wait: {await drawn.line():.1f} s")
        for name, period in PACES.items():
            print(f"\n{name}: a change every {period} s for {options.seconds} s ({load()})")
            faults += await pace(hub, spoken, drawn, period, options.seconds, statistics.median(alone))
        memory(hub, learners)
    finally:
        if drawn:
            await drawn.close()
    errors = [error for learner in spoken for error in learner.kernel.errors]
    for logged in re.findall(r"^\[[EC] .*(?:\n(?!\[).*)*", hub.log.read_text(encoding="utf-8"), re.M):
        errors.append(" … ".join(dict.fromkeys([logged.splitlines()[0], logged.splitlines()[-1]])))
    print(f"\nerrors in kernels, connections and the log: {len(errors)}", *errors[:5], sep="\n", flush=True)
    return faults + len(errors)


async def pace(hub, spoken, drawn, period, seconds, alone):
    """Everybody moves the slider at one pace; print what it took. Returns the number of faults."""
    kernels = [learner.kernel for learner in spoken]
    before, messages = cpu(hub), sum(kernel.messages for kernel in kernels)
    moving = [learner.move(period, seconds) for learner in spoken] + ([drawn.move(period, seconds)] if drawn else [])
    changes = await asyncio.gather(*moving)
    paints = changes.pop() if drawn else []
    spent, rate = cpu(hub), (sum(kernel.messages for kernel in kernels) - messages) / seconds / len(kernels)
    sliders, every = [kernel.slider for kernel in kernels], [change for one in changes for change in one]
    sizes, times = [size for slider in sliders for size in slider.sizes], milliseconds(every)
    seen = [paint for paint in paints if paint == paint]      # NaN: none within five seconds
    faults = {"lost": len(every) - len(times), "out of order": sum(slider.out_of_order for slider in sliders),
              "wrong": sum(slider.wrong for slider in sliders), "not painted": len(paints) - len(seen)}
    print(HEAD)
    print(row(f"{len(spoken)} over the protocol", times, f"{statistics.median(times) / alone:.1f} × alone"))
    if drawn:
        print(row("1 in Chromium", seen, "to the frame that shows it"))
    print(f"of {len(every)} changes {len(times) - len(sizes)} went with a later one, "
          + ", ".join(f"{count} {what}" for what, count in faults.items()))
    print(f"an update is {statistics.median(sizes) / 1e3:.0f} kB; {rate:.0f} messages a second and learner (the server's limit is 1000)")
    print("CPU seconds in a minute: " + ", ".join(
        f"{kind} {(total - before.get(kind, 0)) * 60 / seconds:.1f}" for kind, total in spent.items()), flush=True)
    return sum(faults.values())


# ---------------------------------------------------------------- the link and a learner's changes

async def pulls(hub):
    """A learner changes things, the teacher too, and the learner follows the link again. Returns the number of surprises."""
    import nbformat
    await ready(hub)
    learner = Learner(hub, "learner-1")
    await learner.log_in()
    await learner.start()
    await learner.pull()
    mine, theirs = hub.homes / "learner-1" / "course", hub.folder / "teacher"
    git(hub.folder, "clone", "--quiet", hub.upstream, theirs)
    paper = "notebooks/02_one_token_by_hand.ipynb"

    def edit(folder, change):
        book = json.loads((folder / paper).read_text(encoding="utf-8"))
        change(book["cells"])
        (folder / paper).write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def find(cells, text):
        return next(cell for cell in cells if text in "".join(cell["source"]))

    def added(name, text):
        return {"cell_type": "markdown", "id": name, "metadata": {}, "source": [text]}

    def answers(cells):
        cell = find(cells, "my_z = None")
        cell["source"] = [line.replace("my_z = None", "my_z = [-3, 1, 6]") for line in cell["source"]]
        cells.append(added("mine", "My own last cell"))

    def teaches(cells):
        cells[0]["source"] = ["# 02, second edition\n", *cells[0]["source"][1:]]
        find(cells, "my_z = None")["source"][0] = "my_z = 'the teacher changed this'\n"
        cells.insert(3, added("new", "A new cell"))
        cells.append(added("last", "A new last cell"))

    edit(mine, answers)
    subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", mine / paper], check=True,
                   capture_output=True)                        # the learner runs and saves the notebook: every output is new
    (mine / "notes.md").write_text("my notes\n", encoding="utf-8")
    (mine / "LICENSE").unlink()
    edit(theirs, teaches)
    (theirs / "notes.md").write_text("the teacher's notes\n", encoding="utf-8")
    git(theirs, "add", "-A")
    git(theirs, "commit", "-qm", "second edition")
    git(theirs, "push", "-q", "origin", "HEAD:main")
    print((await learner.pull())[1])

    book = nbformat.read(mine / paper, as_version=4)      # raises when the merge has broken it
    nbformat.validate(book)
    sources = [cell.source for cell in book.cells]
    answered = next(cell for cell in book.cells if "my_z = [-3, 1, 6]" in cell.source)
    found = {
        "the learner's answer stays where both changed the same lines": "the teacher changed this" not in answered.source,
        "what it printed stays": "correct: z" in json.dumps(answered.outputs),
        "the teacher's change elsewhere in the same notebook arrives": sources[0].startswith("# 02, second edition"),
        "a new cell of the teacher's arrives": "A new cell" in sources,
        "a new cell where the learner added one too: the learner's stays, the teacher's is not taken":
            "My own last cell" in sources and "A new last cell" not in sources,
        "a file that the learner deleted is there again": (mine / "LICENSE").exists(),
        "a file that both made: the teacher's has the name, the learner's is kept beside it": [
            path.read_text(encoding="utf-8") for path in sorted(mine.glob("notes*"), key=lambda path: len(path.name))]
            == ["the teacher's notes\n", "my notes\n"]}
    for what, holds in found.items():
        print("yes:" if holds else "NO: ", what)
    return sum(not holds for holds in found.values())


def main(argv=None):
    options = parser().parse_args(argv)
    if options.learners < 3:
        parser().error("a class has at least 3 learners")
    if options.page:
        return page(*options.page)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="class-") as folder:
        hub = Hub(Path(folder))
        faults = 1
        try:
            faults = asyncio.run(pulls(hub) if options.pull else lesson(hub, options))
        finally:
            print(f"processes that had to be killed at the end: {hub.close()}")
    return 1 if faults else 0


def parser():
    top = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--learners", type=int, default=10, help="how many (default 10; at least 3)")
    top.add_argument("--seconds", type=int, default=60, help="how long each pace is kept (default 60)")
    top.add_argument("--no-page", action="store_true", help="without Chromium: every learner over the protocol")
    top.add_argument("--pull", action="store_true", help="follow the hub's link twice, with changes on both sides between")
    top.add_argument("--set-up", action="store_true", help="only make .venv-class")
    top.add_argument("--page", nargs=3, help=argparse.SUPPRESS)
    return top


if __name__ == "__main__":
    asked = parser().parse_args()
    try:
        python = set_up()
    except course.Problem as problem:
        sys.exit("\n" + str(problem))
    if asked.set_up:
        sys.exit(0)
    if Path(sys.prefix) != VENV:
        os.execv(python, [str(python), *sys.argv])
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
