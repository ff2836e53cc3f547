"""A real JupyterLab on a copy of the course, and one notebook in it, driven through Chromium."""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome")
                 if (path := shutil.which(name))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]


def copy(folder):
    """The course without what git ignores; other tests may make and remove files meanwhile."""
    def copy_file(source, target):
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(source, target)

    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()      # a copy of the course has no git to ask
    shutil.copytree(ROOT, folder, copy_function=copy_file,
                    ignore=shutil.ignore_patterns(".git", *(pattern.strip("/") for pattern in ignored)))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Lab:
    """JupyterLab serving a copy of the course (it saves by itself), with settings of its own."""

    def __init__(self, folder, *options):
        self.root = folder / "course"
        copy(self.root)
        settings = folder / "settings"
        (settings / "labconfig").mkdir(parents=True)
        (settings / "labconfig" / "page_config.json").write_text(json.dumps(
            {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}), encoding="utf-8")
        # All cells at once in the page, not only those in view.
        tracker = settings / "JUPYTERLAB_SETTINGS_DIR" / "@jupyterlab" / "notebook-extension"
        tracker.mkdir(parents=True)
        (tracker / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}', encoding="utf-8")
        self.log = open(folder / "lab.log", "w", encoding="utf-8")
        names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "JUPYTERLAB_SETTINGS_DIR",
                 "JUPYTERLAB_WORKSPACES_DIR")
        env = {**os.environ, **{name: str(settings / ("" if name == "JUPYTER_CONFIG_DIR" else name)) for name in names}}
        for _ in range(3):                         # a free port may be taken before the server has it
            port = free_port()
            self.url = f"http://127.0.0.1:{port}"
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1",
                 "--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True", "--ServerApp.port_retries=0", *options],
                cwd=self.root, stdout=self.log, stderr=self.log, env=env)
            if self.answers():
                return
            if self.process.poll() is None:        # it runs and is silent: no port's fault
                break
        self.close()
        said = pathlib.Path(self.log.name).read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"JupyterLab did not start: {said[-2000:]}")

    def answers(self, seconds=60):
        """Wait until the server answers; False once it has ended, or after `seconds`."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                urllib.request.urlopen(self.url + "/api/status", timeout=1).close()
                return True
            except OSError:
                time.sleep(0.1)
        return False

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


class Notebook:
    """One notebook open in the page. Console errors gather in `errors`."""

    def __init__(self, page, lab, path):
        self.page, self.lab, self.path, self.errors = page, lab, path, []
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(f"{lab.url}/lab/tree/{path}?reset")
        self.wait("window.jupyterapp?.shell?.currentWidget?.context?.isReady")
        page.evaluate("() => { window.panel = jupyterapp.shell.currentWidget; "
                      "jupyterapp.commands.execute('application:toggle-left-area'); }")
        page.wait_for_selector(".jp-Notebook .jp-Cell")

    def wait(self, condition, arg=None, seconds=30):
        """Wait by the clock: Playwright's default waits for frames, and an overloaded page draws none."""
        self.page.wait_for_function(condition, arg=arg, polling=50, timeout=seconds * 1000)

    def idle(self):
        self.wait("panel.sessionContext.session?.kernel?.status === 'idle'", seconds=60)

    def run_all(self, timeout=120):
        """Run all cells and return the errors in their outputs."""
        self.idle()
        self.page.evaluate("() => { window.done = false; jupyterapp.commands.execute('notebook:run-all-cells')"
                           ".finally(() => window.done = true) }")
        self.wait("window.done", seconds=timeout)
        self.idle()
        return self.outputs("error")

    def outputs(self, kind=None):
        cells = self.page.evaluate("() => panel.context.model.toJSON().cells")
        found = [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]
        return [output for output in found if kind in (None, output["output_type"])]

    def ask(self, code):
        """Run code in the notebook's kernel, outside its cells; the JSON that it prints."""
        return json.loads(self.page.evaluate("""async (code) => {
            const future = panel.sessionContext.session.kernel.requestExecute({code, store_history: false});
            let text = '';
            future.onIOPub = m => { if (m.content.name === 'stdout') text += m.content.text };
            await future.done;
            return text }""", code))

    def shut_down(self):
        self.page.evaluate("() => panel.sessionContext.shutdown()")
