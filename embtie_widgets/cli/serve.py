"""`embtie serve` and `embtie lessons`."""

import argparse


def serve(arguments: argparse.Namespace) -> int:
    """Serve the dashboard, or the lessons, until the user stops it."""
    from embtie_widgets.app.serve import serve as serve_dashboard

    serve_dashboard(
        port=arguments.port,
        host=arguments.host,
        open_browser=not arguments.no_browser,
        idle_minutes=arguments.idle_minutes,
        lessons=arguments.lessons,
    )
    return 0
