"""A real JupyterLab on a copy of the course, and one notebook in it, driven through Chromium."""
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


class Lab:
    """JupyterLab serving a copy of the course (it saves by itself), with settings of its own."""

    def __init__(self, folder, *options):
        self.root = folder / "course"
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".pytest_cache"))
        settings = folder / "settings"
        (settings / "labconfig").mkdir(parents=True)
        (settings / "labconfig" / "page_config.json").write_text(json.dumps(
            {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}), encoding="utf-8")
        # All cells at once in the page, not only those in view.
        tracker = settings / "JUPYTERLAB_SETTINGS_DIR" / "@jupyterlab" / "notebook-extension"
        tracker.mkdir(parents=True)
        (tracker / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}', encoding="utf-8")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = open(folder / "lab.log", "w", encoding="utf-8")
        names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "JUPYTERLAB_SETTINGS_DIR",
                 "JUPYTERLAB_WORKSPACES_DIR")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1",
             "--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True", "--ServerApp.port_retries=0", *options],
            cwd=self.root, stdout=self.log, stderr=self.log,
            env={**os.environ, **{name: str(settings / ("" if name == "JUPYTER_CONFIG_DIR" else name)) for name in names}})
        for _ in range(300):
            try:
                return urllib.request.urlopen(self.url + "/api/status", timeout=1).close()
            except OSError:
                time.sleep(0.1)
        said = pathlib.Path(self.log.name).read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"JupyterLab did not start: {said[-2000:]}")

    def close(self):
        self.process.terminate()
        self.process.wait(30)
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
