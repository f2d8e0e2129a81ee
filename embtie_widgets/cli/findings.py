"""What the doctor looks at.  It never prints a token, and shortens the home folder to `~`."""

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import psutil
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import embtie_widgets

GIB = 2**30


@dataclass(frozen=True)
class Finding:
    """One fact about this installation; a `fault` is one that keeps embtie from working."""

    section: str
    name: str
    value: str
    fault: bool = False
    hint: str = ""


def examine() -> list[Finding]:
    """Every finding, in the order in which they are shown."""
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _python,
        _packages,
        _device,
        _browser,
        _bundled,
        _caches,
        _machine,
    )
    return [finding for check in checks for finding in check()]


def _python() -> Iterator[Finding]:
    wanted = metadata.metadata("embtie")["Requires-Python"]
    version = platform.python_version()
    good = SpecifierSet(wanted).contains(version, prereleases=True)
    hint = "" if good else f"Make the environment again with a Python {wanted}."
    yield Finding("Python", "python", f"{version} ({wanted})", not good, hint)


def _packages() -> Iterator[Finding]:
    """The needs that the installed embtie declares: there is no second list of them."""
    for text in sorted(metadata.requires("embtie") or []):
        need = Requirement(text)
        if need.marker is None or need.marker.evaluate({"extra": ""}):
            yield package(need)


def package(need: Requirement) -> Finding:
    """Whether one package is installed, in the declared range."""
    advice = f"Install it: pip install '{need.name}{need.specifier}'"
    try:
        version = metadata.version(need.name)
    except metadata.PackageNotFoundError:
        return Finding("Packages", need.name, f"missing ({need.specifier})", True, advice)
    if not need.specifier.contains(version, prereleases=True):
        value = f"{version} is out of range ({need.specifier})"
        return Finding("Packages", need.name, value, True, advice)
    return Finding("Packages", need.name, f"{version} ({need.specifier})")


def _device() -> Iterator[Finding]:
    try:
        from embtie_widgets.measures.devices import available_devices, pick_device
    except (ImportError, OSError) as error:
        value = f"torch cannot be loaded ({type(error).__name__})"
        yield Finding("Device", "torch", value, True, "Install torch again, see Packages above.")
        return
    yield Finding("Device", "usable", ", ".join(available_devices()))
    yield Finding("Device", "'auto' takes", str(pick_device("auto")))


def _browser() -> Iterator[Finding]:
    found = shutil.which("chromium")
    hint = "" if found else "Only the browser tests and PNG files from scripts need it."
    yield Finding("Browser", "chromium", "found" if found else "not found", hint=hint)


def _bundled() -> Iterator[Finding]:
    """Every file of the bundled pair against the hash in its provenance."""
    folder = Path(embtie_widgets.__file__).parent / "data" / "nano"
    try:
        wanted = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError):
        wanted = {}
    damaged = [name for name, digest in wanted.items() if _digest(folder / name) != digest]
    if wanted and not damaged:
        yield Finding("Bundled pair", "files", f"all {len(wanted)} there and whole")
        return
    value = f"missing or changed: {', '.join(damaged)}" if damaged else "no provenance file"
    yield Finding("Bundled pair", "files", value, True, "Install embtie again.")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _caches() -> Iterator[Finding]:
    from huggingface_hub import constants, get_token

    from embtie_widgets.jobs.cache import cache_folder
    from embtie_widgets.sources.place import tensors_folder

    hub = Path(constants.HF_HUB_CACHE)
    models = len(list(hub.glob("models--*")))
    yield Finding("Cache", "models from the hub", f"{models} ({_size(hub)} in {short_path(hub)})")
    access = "switched off (HF_HUB_OFFLINE)" if constants.HF_HUB_OFFLINE else "allowed, not tried"
    yield Finding("Cache", "hub access", access)
    yield Finding("Cache", "hub token", "set" if get_token() else "not set")
    tensors = tensors_folder()
    kept = f"{_size(tensors)} in {short_path(tensors)}" if tensors else "not kept"
    yield Finding("Cache", "matrices from the hub", kept)
    own = cache_folder()
    yield Finding("Cache", "results", f"{_size(own)} in {short_path(own)}" if own else "not kept")


def _machine() -> Iterator[Finding]:
    memory = psutil.virtual_memory()
    disk = shutil.disk_usage(Path.home())
    yield Finding("Machine", "system", f"{platform.system()} {platform.machine()}")
    yield Finding("Machine", "cores", str(os.cpu_count()))
    free = f"{memory.available / GIB:.1f} of {memory.total / GIB:.1f} GiB free"
    yield Finding("Machine", "memory", free)
    yield Finding("Machine", "disk", f"{disk.free / GIB:.1f} GiB free")


def _size(folder: Path) -> str:
    """The bytes stored under the folder, each file once: the hub's cache is full of links."""
    files = (Path(root, name) for root, _, names in os.walk(folder) for name in names)
    total = sum(file.stat().st_size for file in files if not file.is_symlink())
    return f"{total / 2**20:,.1f} MiB"


def short_path(path: Path) -> str:
    """A path with the home folder as `~`."""
    home = Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)
