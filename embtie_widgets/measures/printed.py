"""A paper's printed parameter counts held against exact ones, and where they part, why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from embtie_widgets.results import Parameters, Printed

_MILLION = 10**6


@dataclass(frozen=True)
class Row:
    """What the paper prints of one model: texts by quantity, and its nominal size in millions."""

    label: str
    nominal: int
    printed: Mapping[str, str]


def rounded(value: Decimal) -> str:
    """One place after the point, halves away from zero, as the paper has it."""
    return str(value.quantize(Decimal("0.1"), ROUND_HALF_UP))


def table_3(row: Row, exact: Parameters) -> Iterator[Printed]:
    """Untied, tied and saved, in millions."""
    for quantity in ("untied", "tied", "saved"):
        value = Decimal(getattr(exact, quantity)) / _MILLION
        yield _printed("table 3", row, quantity, "M", value, "")


def table_4(row: Row, exact: Parameters, other_rows: int) -> Iterator[Printed]:
    """Both matrices in millions, and their share in per cent.

    `other_rows` is the vocabulary that the table's caption names, without padding.
    """
    embedding = Decimal(exact.embedding) / _MILLION
    yield _printed("table 4", row, "embedding", "M", embedding, _halves(row, exact, other_rows))
    share = 100 * Decimal(exact.embedding) / Decimal(exact.untied)
    yield _printed("table 4", row, "share", "%", share, _nominal(row, exact))


def _printed(
    table: str, row: Row, quantity: str, unit: str, exact: Decimal, reason: str
) -> Printed:
    text = rounded(exact)
    same = text == row.printed[quantity]
    return Printed(
        table=table,
        model=row.label,
        quantity=quantity,
        unit=unit,
        printed=row.printed[quantity],
        recomputed=text,
        exact=float(exact),
        reason="" if same else reason or "No reason is known.",
    )


def _halves(row: Row, exact: Parameters, other_rows: int) -> str:
    """Whether the printed figure is twice one matrix that was rounded first."""
    width = exact.settings["width"]
    for rows in (exact.settings["rows"], other_rows):
        half = Decimal(rounded(Decimal(rows * width) / _MILLION))
        if str(2 * half) == row.printed["embedding"]:
            return f"Twice one matrix of {rows:,} rows that was rounded to {half} M first."
    return ""


def _nominal(row: Row, exact: Parameters) -> str:
    """Whether the printed share divides the printed figure by the model's nominal size."""
    share = 100 * Decimal(row.printed["embedding"]) / row.nominal
    if rounded(share) != row.printed["share"]:
        return ""
    total = rounded(Decimal(exact.untied) / _MILLION)
    return (
        f"{row.printed['embedding']} M divided by the nominal {row.nominal:,} M; "
        f"the model has {total} M."
    )
