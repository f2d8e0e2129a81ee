"""`embtie reproduce`: the papers' printed numbers, held against what is computed here."""

import argparse

from embtie_widgets.cli.run import carry_out
from embtie_widgets.requests.papers import ITEMS, PAPERS, PaperTablesRequest


def reproduce(arguments: argparse.Namespace) -> int:
    """Compute the items that are named, all for none; 0 where it ran, whatever agrees."""
    if arguments.list:
        print(listed())
        return 0
    request = PaperTablesRequest(
        items=tuple(arguments.items),
        fetch=arguments.fetch,
        data=arguments.data,
        stand_in=not arguments.no_stand_in,
    )
    carry_out(request, arguments.out)
    return 0


def listed() -> str:
    """Every item by paper, with its title."""
    from embtie_widgets.jobs.papers_items import ITEMS as MADE

    wide = max(map(len, ITEMS))
    parts = [
        "\n".join(
            [
                f"{paper} (the name of the paper stands for all of these)",
                *(
                    f"  {name:<{wide}}  {MADE[name].as_printed().title}"
                    for name, of in ITEMS.items()
                    if of == paper
                ),
            ]
        )
        for paper in PAPERS
    ]
    return "\n\n".join(parts)
