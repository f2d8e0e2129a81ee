"""How many wrong tokens may come from an address: a few at once, then one in a while.

Wrong ones alone count, and who waits is not put back by asking: many readers may share an address,
as a class does, and the wait is short.  Guessing stays hopeless all the same.
"""

import ipaddress
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable

_LOG = logging.getLogger("embtie")
AT_ONCE, AGAIN_SECONDS = 20, 3.0
_ADDRESSES = 10_000
_NETWORK = 64  # bits of an address of the sixth version that one reader can have all of


class Attempts:
    """The wrong tokens of late, by address; each is forgotten in its turn."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free_at: OrderedDict[str, float] = OrderedDict()  # when all of its are forgotten

    def wait(self, address: str) -> int:
        """In how many seconds, rounded up, a token from there is looked at; 0: now."""
        due = self._free_at.get(_reader(address), 0.0) - (AT_ONCE - 1) * AGAIN_SECONDS
        return max(0, math.ceil(due - self._clock()))

    def failed(self, address: str) -> None:
        """A wrong one came from there."""
        reader, now = _reader(address), self._clock()
        self._free_at[reader] = max(self._free_at.get(reader, now), now) + AGAIN_SECONDS
        self._free_at.move_to_end(reader)
        while len(self._free_at) > _ADDRESSES:
            self._free_at.popitem(last=False)
        if self.wait(address):
            told = {"event": "sign-in-limited", "address": address}
            _LOG.warning("too many wrong tokens from %s: it has to wait", address, extra=told)

    def __len__(self) -> int:
        return len(self._free_at)


def _reader(address: str) -> str:
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if known.version == 4:
        return address
    return str(ipaddress.ip_network((known, _NETWORK), strict=False))
