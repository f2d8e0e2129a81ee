"""How a page is served: one description, whatever it was said by.

A setting is a field here; in the configuration file it has the same name, as a variable of the
environment `EMBTIE_` before it, on the command line dashes.  What is said nearer goes first:
command line, environment, file, the default below.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

PORT = 8866
LESSONS_PORT = PORT + 1  # a class has both open
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_BASE = re.compile(r"/(?:(?!\.{1,2}/)(?:[\w.~@-]|%(?!2[EF])[2-9A-F][\dA-F])+/)*", re.ASCII)
_SITE = re.compile(r"'self'|\*|https?://(?:\*\.)?[\w.-]+(?::\d{1,5})?", re.ASCII)
_SHORTEST_TOKEN = 16


class Rule(NamedTuple):
    """What a setting says, what it may be, in words and as a test, whether it names paths, and in
    words what holds as long as its value names nothing."""

    says: str
    expected: str
    good: Callable[[Any], bool]
    is_path: bool = False
    unset: str = ""


def rule(name: str) -> Rule:
    """The rule of a setting."""
    known: Rule = ServeSettings.__dataclass_fields__[name].metadata["rule"]
    return known


def default_words(name: str) -> str:
    """What holds unless the setting is said: its default, or what that stands for."""
    value = ServeSettings.__dataclass_fields__[name].default
    words = {True: "yes", False: "no"}.get(value) if isinstance(value, bool) else None
    return rule(name).unset or words or (str(value) if value not in ("", ()) else "none")


def _set(
    default: Any, says: str, expected: str, good: Callable[[Any], bool] = bool, unset: str = ""
) -> Any:
    return field(default=default, metadata={"rule": Rule(says, expected, good, unset=unset)})


def _switch(default: bool | None, says: str, unset: str = "") -> Any:
    return _set(default, says, "true or false", lambda _: True, unset)


def _number(
    default: float, says: str, low: int, high: int, kind: str = "a whole number", unset: str = ""
) -> Any:
    expected = f"{kind} from {low} to {high}"
    return _set(default, says, expected, lambda given: low <= given <= high, unset)


def _one_of(default: str, says: str, *values: str) -> Any:
    return _set(default, says, " or ".join(f'"{one}"' for one in values), values.__contains__)


def _path(
    says: str, unset: str, expected: str = "a folder", default: tuple[str, ...] | None = None
) -> Any:
    known = Rule(says, expected, lambda _: True, is_path=True, unset=unset)
    return field(default=default, metadata={"rule": known})


@dataclass(frozen=True)
class ServeSettings:
    """Everything that can be set of a served page; the rule of each field says what it is."""

    host: str = _set("127.0.0.1", "where it listens", "a name or an address of this machine")
    port: int = _number(PORT, "its port; 0 takes any free one", 0, 65535)
    open_browser: bool = _switch(True, "whether the page is opened in a browser of this machine")
    base_url: str = _set(
        "/",
        'the path that it has below a proxy, such as "/embtie/"',
        'a path of letters, digits and . _ ~ @ -, others escaped, such as "/embtie/"',
        lambda given: _BASE.fullmatch(given) is not None,
    )
    proxied: bool = _switch(
        False, "whether a reverse proxy stands before it, whose X-Forwarded headers count"
    )
    framed_by: tuple[str, ...] = _set(
        (),
        'other sites that may show the page inside theirs, such as "https://moodle.example.org"',
        "addresses that begin with https:// or http://, without a path",
        lambda given: all(_SITE.fullmatch(one) for one in given),
    )
    sign_in: str = _one_of(
        "none",
        'who may open it: "none", everyone; "token", who has the token; "jupyterhub", users of the '
        "hub",
        "none", "token", "jupyterhub",
    )  # fmt: skip
    token: str = _set(
        "",
        'what is asked for with sign_in = "token"; one that is made is said at the start; '
        "on the command line other users of the machine may read it",
        f"at least {_SHORTEST_TOKEN} letters, digits or signs without spaces",
        lambda given: given == "" or re.fullmatch(r"[!-~]{16,512}", given) is not None,
        "one is made where it is asked for",
    )
    public: bool | None = _switch(
        None,
        "whether strangers open it, whose choices are held within bounds",
        "where it can be reached from elsewhere without JupyterHub",
    )
    visitors: int = _number(
        40, "the most kernels at a time; who comes later waits before the door", 1, 10_000
    )
    pages: int = _number(
        6, "the most of them that one visitor may have; not on a page of this machine alone",
        1, 10_000,
    )  # fmt: skip
    ready: int = _number(1, "kernels kept started for those who come next; 0 for none", 0, 1000)
    starting: int = _number(2, "the most kernels that start at a time", 1, 1000)
    idle_minutes: float = _set(
        20,
        "a kernel ends when its page has been away for so many minutes",
        "a number above 0, at most 100000",
        lambda given: 0 < given <= 100_000,
    )
    keep_seconds: float = _number(
        60, "how long a page that was left, or reloaded, finds its kernel again", 0, 10**6,
        "a number",
    )  # fmt: skip
    job_minutes: float = _set(
        5,
        "the job of a page that was closed goes on for so many minutes; not on a page of this "
        "machine alone",
        "a number above 0, at most 100000",
        lambda given: 0 < given <= 100_000,
    )
    visitor_memory: int = _number(4096, "MiB that one kernel may hold", 256, 10**8)
    visitor_card: int = _number(
        0,
        "MiB of a graphics card that one kernel may hold; 0: all that is free",
        0,
        10**7,
        unset="all that is free",
    )
    memory: int = _number(
        0,
        "MiB that all kernels together may hold; 0: nine tenths of what is free",
        0,
        10**9,
        unset="nine tenths of what is free at the start",
    )
    models: tuple[str, ...] = _path(
        "folders whose models a visitor of a public page may open", "none", "folders", ()
    )
    corpora: str | None = _path("the folder whose texts visitors may count tokens in", "none")
    lenses: str | None = _path("the folder whose saved lenses visitors may load", "none")
    runs: str | None = _path("the folder whose recorded runs visitors may open", "none")
    tasks: str | None = _path("the folder whose items of tasks visitors may ask models", "none")
    datasets: bool | None = _switch(None, "whether visitors may name data sets of the hub", "no")
    catalogue: str | None = _path(
        "the owner's own catalogue of models", "the one of the account, if any", "a file"
    )
    cluster: str | None = _set(
        None, "where the runs of a sweep are trained: a Dask scheduler, \"local:4\" or \"here\"",
        "tcp://host:8786, \"local:4\" or \"here\"", unset="here",
    )  # fmt: skip
    cache: str | None = _path(
        'where results and matrices are kept; "off" keeps none',
        "the cache folder of the account",
        'a folder or "off"',
    )
    log: str = _one_of(
        "text",
        'how the server says what happens: "text", words for a terminal; "json", an object a line',
        "text", "json",
    )  # fmt: skip

    @property
    def is_public(self) -> bool:
        """Whether visitors are held within bounds."""
        if self.public is not None:
            return self.public
        return not self.is_own and self.sign_in != "jupyterhub"

    @property
    def is_own(self) -> bool:
        """Whether only this machine reaches it."""
        return not self.proxied and self.host in LOOPBACK
