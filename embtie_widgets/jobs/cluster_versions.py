"""Whether the workers of a cluster would do what this machine would."""

from collections.abc import Iterable
from importlib import metadata
from typing import Any

from packaging.version import InvalidVersion, Version

from embtie_widgets.errors import EmbtieError

PACKAGES = ("embtie", "torch")


def check_versions(client: Any) -> None:
    """An EmbtieError where a worker that is there by now has another embtie or torch."""
    for package in PACKAGES:
        found = client.run(metadata.version, package, on_error="return")
        # A worker that cannot be reached has died just now.
        answers = [one for one in found.values() if not isinstance(one, OSError)]
        compare_versions(package, answers)


def compare_versions(package: str, found: Iterable[Any]) -> None:
    """An EmbtieError where one of those found on workers is another than here; what is no text
    stands for a worker that has none."""
    here = _public(metadata.version(package))
    others = {_public(one) if isinstance(one, str) else "none" for one in found} - {here}
    if others:
        raise EmbtieError(
            f"Workers of the cluster have another {package} than this machine: "
            f"{', '.join(sorted(others))} instead of {here}.",
            f"Install {package} {here} for all of them, and start them anew.",
        )


def _public(version: str) -> str:
    """Without what a build for one kind of device adds."""
    try:
        return Version(version).public
    except InvalidVersion:
        return version
