"""The card of what is known of models and runs."""

from embtie_widgets.panels.facts import facts_of


def test_shares_are_told_with_as_many_digits_as_can_be_read() -> None:
    shown = facts_of({"text": {"share": 0.48688944316481, "rows": 50_304}}, {}, (), "text")
    assert "0.486889<" in shown
    assert "50,304" in shown


def test_what_is_unknown_of_every_model_takes_no_row() -> None:
    about = {"a": {"text": {"name": "x", "ref": ""}}, "b": {"text": {"name": "y", "ref": ""}}}
    shown = facts_of(about, {}, (), "models")
    assert "text, name" in shown
    assert "text, ref" not in shown
