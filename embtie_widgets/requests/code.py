"""The lines that make a result without the interface."""

from embtie_widgets.requests.model import ModelRef
from embtie_widgets.requests.reference import Reference
from embtie_widgets.requests.request import Request


def to_code(request: Request) -> str:
    """Three lines of Python that run this request and print its result.

    Models and what differs from the defaults are written.
    """
    default = type(request)()
    changed = [
        f"{name}={_literal(getattr(request, name))}"
        for name in request.to_dict()
        if isinstance(getattr(request, name), ModelRef)
        or getattr(request, name) != getattr(default, name)
    ]
    return (
        "import embtie_widgets as ew\n"
        f"result = ew.run(ew.{type(request).__name__}({', '.join(changed)}))\n"
        "print(result)\n"
    )


def load_code(model: ModelRef) -> str:
    """Python that loads a model as the reference says."""
    fields = model.to_dict()
    if fields.keys() == {"ref", "revision"}:
        return f"ew.load({model.ref!r}, {model.revision!r})"
    return f"ew.load({_literal(model)})"


def _literal(value: object) -> str:
    if isinstance(value, Reference):
        fields = value.to_dict()
        if fields.keys() == {"ref"}:
            return repr(value.ref)
        named = ", ".join(f"{k}={v!r}" for k, v in fields.items())
        return f"ew.{type(value).__name__}({named})"
    return repr(value)
