"""What the landing page says to those who wait before the door."""

from typing import NamedTuple

from embtie_widgets.app.doors import Look


class Words(NamedTuple):
    """A heading, what is waited for, the visitor's number in the queue, and how one comes in."""

    title: str
    text: str
    queue: str
    how: str = (
        "The page opens by itself in order of arrival. Your number is kept while this page is open."
    )


def words(look: Look) -> Words:
    """How it stands, in words."""
    if look.open:
        return Words("Coming in", "A place is free.", "")
    if look.reason == "pages":
        how = "A page that you return to keeps all that it shows."
        return Words("You have other pages open", _pages(look.pages), "", how)
    if look.reason == "starting":
        return Words("Starting", "Other pages are starting just now; yours is next.", _queue(look))
    if look.reason == "memory":
        text = "The memory of this server is taken by the pages that are open."
        return Words("Please wait", text, _queue(look))
    taken = "the only place is" if look.places == 1 else f"all {look.places} places are"
    text = f"Every visitor has a computing process of their own, and {taken} taken."
    return Words("Please wait", text, _queue(look))


def _pages(most: int) -> str:
    """What who has as many pages as one may is told, and what to do."""
    many = "another page" if most == 1 else f"{most} pages"
    one = "it" if most == 1 else "one of them"
    return (
        f"You have {many} of this server open, and one visitor may have no more. Close {one}: "
        "this page then opens by itself, within some seconds."
    )


def _queue(look: Look) -> str:
    if look.before == 0:
        return "You are the next to come in."
    if look.before == 1:
        return "One visitor waits before you."
    return f"{look.before} visitors wait before you."
