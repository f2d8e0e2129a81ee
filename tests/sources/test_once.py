"""What several parts of one piece of work read is read once, and forgotten afterwards."""

from embtie_widgets.sources.once import once, read_once


def test_what_is_read_inside_is_read_once_also_by_a_part_that_asks_for_it_itself() -> None:
    read: list[int] = []

    def part() -> int:
        with read_once():
            return once("file", lambda: read.append(1) or len(read))  # type: ignore[func-returns-value]

    with read_once():
        assert [part(), once("file", lambda: 9), part()] == [1, 1, 1]
    assert len(read) == 1
    assert part() == 2
    assert once("file", lambda: 9) == 9
