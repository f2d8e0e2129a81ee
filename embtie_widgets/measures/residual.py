"""What embedding and blocks write into the residual stream."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor


def written(states: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Shares (L + 1, n) and lengths (L, n) of what is written, for L + 1 states (n, d).

    The share of a part is its projection on the last state, over that state's squared length; the
    shares of the embedding and of all blocks sum to 1, and a part that works against the outcome
    has a negative one.  The length of what a block writes is over that of the state after it.
    NaN where a state is not finite or zero.
    """
    last = states[-1]
    along = torch.stack([(state * last).sum(-1) for state in states]) / last.square().sum(-1)
    share = torch.diff(along, dim=0, prepend=torch.zeros_like(along[:1]))
    length = [(after - before).norm(dim=-1) / after.norm(dim=-1)
              for before, after in pairwise(states)]  # fmt: skip
    return share, torch.stack(length)
