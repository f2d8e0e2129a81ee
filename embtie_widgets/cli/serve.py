"""`embtie serve` and `embtie lessons`."""

import argparse
import sys
from dataclasses import fields

from embtie_widgets.app.settings import ServeSettings


def serve(arguments: argparse.Namespace) -> int:
    """Serve the dashboard, or the lessons, until the user stops it."""
    from embtie_widgets.app.configuration import configured, lines, slips

    names = [field.name for field in fields(ServeSettings)]
    typed = {name: value for name, value in vars(arguments).items() if name in names}
    known = configured(typed, arguments.config, default_port=arguments.default_port)
    if arguments.show_settings:
        print("\n".join(lines(known)))
        for slip in slips():
            print(f"embtie: {slip}", file=sys.stderr)
    settings = known.check()
    if arguments.show_settings:
        return 0
    from embtie_widgets.app.serve import serve as serve_page

    serve_page(settings, lessons=arguments.lessons)
    return 0
