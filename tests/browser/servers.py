"""Voila and JupyterLab as servers of their own, started from folders that know nothing of us."""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from embtie_widgets.app import serve
from embtie_widgets.app.serve import check_port

_SERVE = """
from pathlib import Path
from embtie_widgets.app import serve
from embtie_widgets.app.settings import ServeSettings
notebook = {notebook!r}
if notebook:
    serve.notebook = lambda name="": Path(notebook)
known = ServeSettings(port={port}, open_browser=False, base_url={base!r}, **{settings!r})
serve.serve(known, lessons={lessons})
"""
_START_SECONDS = 120


@dataclass
class Running:
    """A server of ours: its address, its process, and the lines that it has said."""

    address: str
    process: "subprocess.Popen[str]"
    said: list[str] = field(default_factory=list)

    def kernels(self) -> list[psutil.Process]:
        """Its kernels, the eldest first."""
        found = psutil.Process(self.process.pid).children(recursive=True)
        kernels = [one for one in found if is_kernel(one)]
        return sorted(kernels, key=lambda one: one.create_time())


def is_kernel(process: psutil.Process) -> bool:
    """Whether it is a kernel that still runs."""
    try:
        return "ipykernel_launcher" in process.cmdline()
    except psutil.Error:
        return False


@contextmanager
def running(
    folder: Path,
    notebook: str = "",
    base: str = "/",
    *,
    lessons: bool = False,
    told: Mapping[str, str] | None = None,
    **settings: Any,
) -> Iterator[Running]:
    """The dashboard, another notebook or the lessons, as `embtie` serves it; `told` are variables
    of its environment."""
    port = settings.pop("port", 0) or check_port(0)
    code = _SERVE.format(
        port=port, notebook=notebook, base=base, lessons=lessons, settings=settings
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**_environment(), **(told or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    server = Running(f"http://localhost:{port}{base}", process)
    try:
        assert process.stdout is not None
        for line in iter(process.stdout.readline, ""):
            server.said.append(line)
            if "embtie is at" in line:
                break
        else:
            pytest.fail("the server ended before it gave its address: " + "".join(server.said))
        lines = process.stdout
        threading.Thread(target=lambda: server.said.extend(lines), daemon=True).start()
        wait_until_open(port)  # the address is said a moment before anybody listens there
        yield server
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def voila(
    folder: Path,
    notebook: str = "",
    base: str = "/",
    *,
    lessons: bool = False,
    **settings: Any,
) -> Iterator[str]:
    """The address of what `running` serves."""
    with running(folder, notebook, base, lessons=lessons, **settings) as server:
        yield server.address


@contextmanager
def plain_voila(folder: Path) -> Iterator[str]:
    """The address of the dashboard as somebody's own Voila serves it, with our template."""
    port, templates = check_port(0), Path(serve.__file__).parent / "jupyter"
    options = ["--no-browser", f"--port={port}", "--template=embtie", str(serve.notebook())]
    server = subprocess.Popen(
        [sys.executable, "-m", "voila", *options],
        cwd=folder,
        env={**_environment(), "JUPYTER_PATH": str(templates)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until_open(port)
        yield f"http://localhost:{port}/"
    finally:
        server.terminate()
        server.wait(30)


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """The address of JupyterLab over a folder of notebooks, its state kept away from the user's."""
    port, told = check_port(0), folder / "settings" / "@jupyterlab" / "apputils-extension"
    told.mkdir(parents=True)
    (told / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    options = {
        "ServerApp.root_dir": str(folder),
        "ServerApp.port": str(port),
        "ServerApp.open_browser": "False",
        "ServerApp.allow_root": "True",
        "IdentityProvider.token": "",
        "ServerApp.password": "",
        "LabApp.expose_app_in_browser": "True",
        "LabApp.extension_manager": "readonly",
        "LabApp.workspaces_dir": str(folder / "workspaces"),
        "LabApp.user_settings_dir": str(folder / "settings"),
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "lab", *(f"--{k}={v}" for k, v in options.items())],
        cwd=folder,
        env=_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://localhost:{port}/lab"
    try:
        _wait_until_served(address)
        yield address
    finally:
        server.terminate()
        server.wait(30)


def _environment() -> dict[str, str]:
    known = {**os.environ, "EMBTIE_CACHE": "off", "HF_HUB_OFFLINE": "1"}
    known.pop("PYTEST_CURRENT_TEST", None)
    return known


def _wait_until_served(address: str) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            time.sleep(0.3)
        else:
            return
    pytest.fail("JupyterLab did not start")


def wait_until_open(port: int) -> None:
    """Until somebody listens; asking Voila for its page would start a kernel."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("localhost", port)) == 0:
                return
        time.sleep(0.3)
    pytest.fail("Voila did not start")
