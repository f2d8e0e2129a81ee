"""Serving: one address, one small kernel for each visitor, nothing from outside."""

import logging
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from embtie_widgets import __version__
from embtie_widgets.app.address import address, check_port
from embtie_widgets.app.configuration import slips
from embtie_widgets.app.extensions import EXTENSIONS
from embtie_widgets.app.settings import LESSONS_PORT, PORT, ServeSettings
from embtie_widgets.app.sign_in import JUPYTERHUB, below_hub, hub_identity
from embtie_widgets.app.variables import tell_kernels
from embtie_widgets.charts.figures import quick_imports
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.processors import share_processors
from embtie_widgets.logs import write_log

_HERE = Path(__file__).parent
# Warnings that ask nothing of anybody: our notebook is ours, the address is printed, and the
# server's own pings wait for three answers, longer than tornado counts for its own, unused ones,
# a hub without TLS hears of no browser from which page a websocket is opened, and that a kernel
# died is said by the doors.
_IDLE_WORDS = (
    "AsyncIOLoopKernelRestarter: restart failed",
    "died, removing from map",
    "is not trusted",
    "No web browser found",
    "websocket_ping_timeout",
    "Skipping XSRF check",
)
_STRANGERS = "open to strangers: what they may open and compute is bounded; --no-public lifts it"


def serve(known: ServeSettings | None = None, *, lessons: bool = False) -> None:
    """Serve the dashboard, or the lessons, until the process is stopped."""
    asked = below_hub(known or ServeSettings(port=LESSONS_PORT if lessons else PORT))
    command = "embtie lessons" if lessons else "embtie"
    port = check_port(asked.port, asked.host, command, asked.base_url)
    ready = 0 if lessons else asked.ready  # for each chapter it would be many
    known = replace(asked, port=port, ready=ready)
    path = str(_HERE / "jupyter")
    os.environ["JUPYTER_PATH"] = os.pathsep.join(
        [path, *filter(None, [os.environ.get("JUPYTER_PATH")])]
    )
    share_processors()
    with tempfile.TemporaryDirectory(prefix="embtie-line-", ignore_cleanup_errors=True) as line:
        tell_kernels(known, Path(line))
        _serve(known, lessons)


def _serve(known: ServeSettings, lessons: bool) -> None:
    with quick_imports():
        from embtie_widgets.app.identity import with_token
        from embtie_widgets.widgets.figure import plotly_script

        made = not known.token
        known = with_token(known)
        server = _server(known, lessons)
    write_log(others=[server.log])
    for log in (server.log, *map(logging.getLogger, ("tornado.general", "tornado.application"))):
        log.addFilter(_is_news)
    # Plotly's script as a file of the page: cacheable, and on its way while the kernel connects.
    server.static_paths = [*server.static_paths, str(plotly_script().parent)]
    for slip in slips():
        logging.getLogger("embtie").warning(slip)
    if known.models:
        _say_passed_over()
    _say_started(known, made)
    server.start()


def _say_passed_over() -> None:
    from embtie_widgets.sources.named_models import passed_over

    for what in passed_over():
        logging.getLogger("embtie").warning("Not offered of the models laid out: %s", what)


def _say_started(known: ServeSettings, made: bool) -> None:
    """The address, on the terminal; in the log of a machine too, but there without a token."""
    if known.log == "text" or (made and known.token):
        print(f"embtie is at {address(known, with_token=made)} (Ctrl+C stops it)", flush=True)
    if known.log == "text" and known.is_public:
        print(_STRANGERS, flush=True)
    told = {"event": "started", "address": address(known), "version": __version__}
    told |= {"sign_in": known.sign_in, "access": "public" if known.is_public else "own"}
    logging.getLogger("embtie").info("embtie is at %s", address(known), extra=told)


def _server(known: ServeSettings, lessons: bool) -> Any:
    """What serves the dashboard, or the lessons."""
    from traitlets.config import Config

    from embtie_widgets.app.identity import cookie_secret, identity
    from embtie_widgets.app.lessons import LessonServer
    from embtie_widgets.app.server import Server

    server = (LessonServer if lessons else Server)(config=Config(settings(known)))
    server.known = known
    server.cookie_secret = cookie_secret(known)
    hub = known.sign_in == JUPYTERHUB
    server.identity_provider_class = hub_identity(known) if hub else identity(known)
    server.initialize([str(server.shown())])
    return server


def notebook(name: str = "dashboard.ipynb") -> Path:
    """A notebook of ours: inside the installed package, or beside it in a checkout."""
    for folder in (_HERE / "notebooks", _HERE.parents[1] / "notebooks"):
        if (folder / name).is_file():
            return folder / name
    raise EmbtieError(
        f"The notebook '{name}' is missing from this installation.", "Install embtie again."
    )


def _is_news(record: logging.LogRecord) -> bool:
    said = record.getMessage()
    return record.levelno > logging.WARNING or not any(words in said for words in _IDLE_WORDS)


def settings(known: ServeSettings) -> dict[str, Any]:
    """Voila's configuration, as for a page that strangers may open."""
    return {
        "Voila": {
            "config_file_paths": [],  # a file of somebody else's Voila loosens nothing here
            "ip": known.host,
            "port": known.port,
            "base_url": known.base_url,
            "port_retries": 0,
            "open_browser": known.open_browser,
            "log_level": "WARN",
        },
        "VoilaConfiguration": {
            "template": "embtie",
            "extension_allowlist": list(EXTENSIONS),
            "show_tracebacks": False,
            "strip_sources": True,
            "preheat_kernel": False,  # the doors keep kernels ready, within the limits
        },
        # What a notebook says to those who have no page: how to start it, and what is seen there.
        "TagRemovePreprocessor": {"enabled": True, "remove_cell_tags": ["start", "picture"]},
        "VoilaExecutor": {"cell_error_instruction": "The log of the server says why."},
        # When a kernel ends is for the doors to say, and one that died comes not back empty.
        "MappingKernelManager": {"cull_idle_timeout": 0},
        "KernelRestarter": {"restart_limit": 0},
        # Where there are sockets without a network port, a kernel is out of other users' reach.
        **({"KernelManager": {"transport": "ipc"}} if os.name == "posix" else {}),
    }
