"""Serving: one address, one small kernel for each visitor, nothing from outside."""

import errno
import http.client
import logging
import os
import socket
from pathlib import Path
from typing import Any

from embtie_widgets.charts.figures import quick_imports
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.processors import share_processors
from embtie_widgets.sources.permission import SERVED

PORT = 8866
LESSONS_PORT = PORT + 1  # a class has both open
IDLE_MINUTES = 20
_HERE = Path(__file__).parent
_EXTENSIONS = [
    "@jupyter-widgets/jupyterlab-manager",
    "@voila-dashboards/widgets-manager8",
    "anywidget",
]
_MINUTE = 60
_PLOTLY = "/voila/static/plotly.min.js"
# Warnings that ask nothing of anybody: our notebook is ours, the address is printed, and the
# server's own pings wait for three answers, longer than tornado counts for its own, unused ones.
_IDLE_WORDS = (
    "is not trusted",
    "No web browser found",
    "websocket_ping_timeout",
    "Culling 'idle' kernel",
)


def serve(
    port: int = PORT,
    host: str = "localhost",
    open_browser: bool = True,
    *,
    preheat: bool = True,
    idle_minutes: float = IDLE_MINUTES,
    lessons: bool = False,
) -> None:
    """Serve the dashboard, or the lessons, until the process is stopped; port 0 takes any free one.

    `preheat` keeps one kernel ready for the next visitor of the dashboard.  A kernel that nobody is
    connected to ends after `idle_minutes`: closing a page does not end it.
    """
    port = check_port(port, host, "embtie lessons" if lessons else "embtie")
    path = str(_HERE / "jupyter")
    os.environ["JUPYTER_PATH"] = os.pathsep.join(
        [path, *filter(None, [os.environ.get("JUPYTER_PATH")])]
    )
    os.environ[SERVED] = "1"  # every kernel learns that it works for visitors
    share_processors()
    with quick_imports():
        from embtie_widgets.widgets.figure import plotly_script

        ready = preheat and not lessons  # one for each chapter would be many
        server = _server(settings(port, host, open_browser, ready, idle_minutes), lessons)
    for log in (server.log, logging.getLogger("tornado.general")):
        log.addFilter(_is_news)
    # Plotly's script as a file of the page: cacheable, and on its way while the kernel connects.
    server.static_paths = [*server.static_paths, str(plotly_script().parent)]
    print(f"embtie is at {_address(port, host)} (Ctrl+C stops it)", flush=True)
    server.start()


def _server(known: dict[str, Any], lessons: bool) -> Any:
    """Voila with what it serves: the notebook of the dashboard, or the folder of lessons."""
    from traitlets.config import Config
    from voila.app import Voila

    if not lessons:
        server, shown = Voila(config=Config(known)), notebook()
    else:
        from embtie_widgets.app.lessons import LessonServer, folder

        server, shown = LessonServer(config=Config(known)), folder()
    server.initialize([str(shown)])
    return server


def notebook(name: str = "dashboard.ipynb") -> Path:
    """A notebook of ours: inside the installed package, or beside it in a checkout."""
    for folder in (_HERE / "notebooks", _HERE.parents[1] / "notebooks"):
        if (folder / name).is_file():
            return folder / name
    raise EmbtieError(
        f"The notebook '{name}' is missing from this installation.", "Install embtie again."
    )


def check_port(port: int, host: str = "localhost", command: str = "embtie") -> int:
    """The port if it is free, a free one for 0; else an error that says what to do.

    Voila itself would move to another port in silence, away from the address that was printed.
    """
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            return int(probe.getsockname()[1])
    except OverflowError:
        raise EmbtieError(f"{port} is no port.", "Choose one from 1024 to 65535.") from None
    except OSError as error:
        raise _port_error(error, port, host, command) from None


def _port_error(error: OSError, port: int, host: str, command: str) -> EmbtieError:
    another = f"with `{command} --port 0`, which takes any free port."
    if error.errno == errno.EADDRINUSE and _is_embtie(port, host):
        return EmbtieError(
            f"embtie is already running at {_address(port, host)}",
            f"Open that page, or start another {another}",
        )
    if error.errno == errno.EADDRINUSE:
        return EmbtieError(
            f"Port {port} is taken by another program.", f"Stop that one, or start {another}"
        )
    if error.errno == errno.EACCES:
        return EmbtieError(
            f"Port {port} is reserved on this machine.", "Choose one from 1024 up with --port."
        )
    return EmbtieError(f"'{host}' is no address of this machine.", "Choose another with --host.")


def _address(port: int, host: str) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _is_embtie(port: int, host: str) -> bool:
    """Whether what listens there serves what only embtie does; its ready kernel is left alone."""
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
    asked = http.client.HTTPConnection(everywhere.get(host, host), port, timeout=2)
    try:
        asked.request("HEAD", _PLOTLY)
        return asked.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()


def _is_news(record: logging.LogRecord) -> bool:
    said = record.getMessage()
    return record.levelno > logging.WARNING or not any(words in said for words in _IDLE_WORDS)


def settings(
    port: int, host: str, open_browser: bool, preheat: bool, idle_minutes: float
) -> dict[str, Any]:
    """Voila's configuration, as for a page that strangers may open."""
    culling = {
        "cull_idle_timeout": round(idle_minutes * _MINUTE),
        "cull_interval": _MINUTE,
        "cull_connected": False,
    }
    return {
        "Voila": {
            "ip": host,
            "port": port,
            "port_retries": 0,
            "open_browser": open_browser,
            "log_level": "WARN",
        },
        # The next kernel starts when the visitor who took the last has seen a figure.
        "VoilaKernelManager": {"fill_delay": 3},
        "VoilaConfiguration": {
            "template": "embtie",
            "extension_allowlist": _EXTENSIONS,
            "show_tracebacks": False,
            "strip_sources": True,
            "preheat_kernel": preheat,
            "default_pool_size": 1,
        },
        # What a notebook says to those who have no page: how to start it, and what is seen there.
        "TagRemovePreprocessor": {"enabled": True, "remove_cell_tags": ["start", "picture"]},
        "VoilaExecutor": {"cell_error_instruction": "The log of the server says why."},
        "MappingKernelManager": culling,
        # Where there are sockets without a network port, a kernel is out of other users' reach.
        **({"KernelManager": {"transport": "ipc"}} if os.name == "posix" else {}),
    }
