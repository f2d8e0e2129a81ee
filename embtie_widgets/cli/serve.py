"""`embtie serve`."""

import argparse


def serve(arguments: argparse.Namespace) -> int:
    """Serve the dashboard until the user stops it."""
    from embtie_widgets.app.serve import serve as serve_dashboard

    serve_dashboard(
        port=arguments.port,
        host=arguments.host,
        open_browser=not arguments.no_browser,
        idle_minutes=arguments.idle_minutes,
    )
    return 0
