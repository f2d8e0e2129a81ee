"""What an alignment works on: matrices, the split of their rows, and the options."""

from dataclasses import dataclass
from functools import cached_property

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.devices import pick_device
from embtie_widgets.measures.maps import check_fit
from embtie_widgets.measures.matrices import BLOCK, Matrix, Rows
from embtie_widgets.measures.moments import Arithmetic, Pair
from embtie_widgets.measures.scoring import Side
from embtie_widgets.progress import Progress, silent

# Up to this many multiplications float64 costs well under a second, so it is simply used.
_EXACT_UP_TO = 5e9


@dataclass(frozen=True)
class Settings:
    """The options of an alignment, as plain values; `align` says what they mean."""

    map: str
    center: bool
    ridge: float
    holdout: float
    seed: int
    floor: bool
    device: str

    def check(self, rows: int, widths: tuple[int, int]) -> None:
        """Refuse what cannot be fitted to so many rows of these widths."""
        number = isinstance(self.holdout, int | float) and not isinstance(self.holdout, bool)
        if not number or not 0 <= self.holdout < 1:
            raise EmbtieError(
                f"holdout is {self.holdout!r}; expected a share from 0 to below 1.",
                "Use 0.2, or 0 for none.",
            )
        if not isinstance(self.seed, int) or not 0 <= self.seed < 2**63:
            raise EmbtieError(
                f"seed is {self.seed!r}; expected a whole number from 0.", "Use 0, for example."
            )
        if not isinstance(self.center, bool):
            raise EmbtieError(
                f"center is {self.center!r}; expected True or False.", "Give one of them."
            )
        check_fit(self.map, rows, widths, self.ridge)


@dataclass(frozen=True)
class Plan:
    """Matrices by name, the rows that take part, and who is trained on, held out and permuted."""

    matrices: dict[str, Matrix]
    rows: Rows
    settings: Settings
    progress: Progress = silent

    @cached_property
    def _order(self) -> tuple[torch.Tensor, torch.Tensor, int]:
        """A shuffle for the split, one for the floor, and how many rows are held out."""
        generator = torch.Generator().manual_seed(self.settings.seed)
        n = len(self.rows)
        held = max(0, min(round(self.settings.holdout * n), n - 2))
        shuffled = torch.randperm(n, generator=generator)
        return shuffled, torch.randperm(n, generator=generator), held

    @cached_property
    def train(self) -> Rows:
        """The rows that the second fit is made on; all of them without a hold-out."""
        shuffled, _, held = self._order
        return self.rows.take(shuffled[held:].sort().values) if held else self.rows

    @cached_property
    def test(self) -> Rows | None:
        """The rows held out, in their own order; None without a hold-out."""
        shuffled, _, held = self._order
        return self.rows.take(shuffled[:held].sort().values) if held else None

    @cached_property
    def permuted(self) -> Rows:
        """All rows in another order: the targets of the floor."""
        return self.rows.take(self._order[1])

    @cached_property
    def arithmetic(self) -> Arithmetic:
        """float64 for small work and for matrices stored so; float32 for the rest."""
        wanted = Arithmetic(pick_device(self.settings.device), torch.float32)
        widest = max(matrix.width for matrix in self.matrices.values())
        stored = {matrix.values.dtype for matrix in self.matrices.values()}
        small = len(self.rows) * widest**2 <= _EXACT_UP_TO
        return wanted.in_float64() if small or torch.float64 in stored else wanted

    def can_hold_out(self, pair: Pair) -> bool:
        """Whether the training rows are enough for the map."""
        if self.test is None:
            return False
        free = self.settings.map != "linear" or self.settings.ridge > 0
        return free or len(self.train) > self.matrices[pair[0]].width

    def fitted_on(self, pair: Pair, name: str) -> tuple[Side, Side]:
        """Source and target as the fit "all", "train" or "floor" sees them."""
        if name == "train":
            return self._held(pair[0], self.train), self._held(pair[1], self.train)
        return self._whole(pair[0]), self._whole(pair[1], name == "floor")

    def scored_on(self, pair: Pair, name: str) -> tuple[Side, Side]:
        """Source and target that this fit is scored on."""
        if name == "train" and self.test is not None:
            return self._held(pair[0], self.test), self._held(pair[1], self.test)
        return self._whole(pair[0]), self._whole(pair[1], name == "floor")

    def _whole(self, name: str, permuted: bool = False) -> Side:
        return Side(self.matrices[name], self.permuted if permuted else self.rows)

    def _held(self, name: str, rows: Rows) -> Side:
        return Side(self.matrices[name], rows, self._train_shifts.get(name))

    @cached_property
    def _train_shifts(self) -> dict[str, torch.Tensor]:
        """By matrix, the mean of the training rows relative to that of all rows."""
        if not self.settings.center:
            return {}
        like = torch.empty(0, dtype=torch.float64)
        found = {}
        for name, matrix in self.matrices.items():
            sums: list[torch.Tensor] = []
            for some in self.train.blocks():
                self.progress("reading", len(sums) * BLOCK, len(self.train))
                sums.append(matrix.block(some, like).sum(0))
            found[name] = torch.stack(sums).sum(0) / len(self.train)
        return found
