"""Code in a Python of its own, where nothing has been imported yet."""

import subprocess
import sys


def run_fresh(code: str, *unloaded: str) -> None:
    """Carry the code out; it fails, or leaves one of these modules imported: so does the test."""
    last = f"import sys; found = {set(unloaded)!r} & set(sys.modules); assert not found, found"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{last}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# By itself glibc keeps freed blocks for later, so that the same work peaks at anything from 50 to
# 200 MiB; what is given back at once shows what is in use.
GIVING_BACK = {"MALLOC_MMAP_THRESHOLD_": "1000000"}
