"""Asynchronous work of a test, beside whatever loop its thread has already."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def awaited(work: Coroutine[object, object, T]) -> T:
    """What the work gives, from a thread of its own: once a browser was started, playwright's loop
    runs in that of the tests to the end."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
