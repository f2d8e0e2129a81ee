"""The command line: `embtie`, `run`, `reproduce`, `count`, `fetch`, `doctor`, `train-nano`."""

import os
import sys
from collections.abc import Sequence

from embtie_widgets.cli.arguments import parse
from embtie_widgets.errors import Cancelled, EmbtieError

FAULT, INTERRUPTED = 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command and return its exit code.

    0: done; 1: the doctor found a fault; 2: a fault of the input; 130: stopped by the user.
    """
    arguments = parse(sys.argv[1:] if argv is None else argv)
    try:
        code = int(arguments.command(arguments))
        sys.stdout.flush()
    except (KeyboardInterrupt, Cancelled):
        print("embtie: stopped.", file=sys.stderr)
        return INTERRUPTED
    except EmbtieError as error:
        return _complain(error)
    except MemoryError:
        hint = "Choose smaller models, or close other work on this machine."
        return _complain(EmbtieError("There is not enough memory for this.", hint))
    except BrokenPipeError:  # `embtie doctor | head` is no fault of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _complain(error: EmbtieError) -> int:
    print(f"embtie: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"        {error.hint}", file=sys.stderr)
    return FAULT
