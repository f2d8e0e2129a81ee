"""The rules at the doors, with a clock and a keeper of kernels of the tests' own."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from embtie_widgets.app.doors import Doors
from embtie_widgets.app.health import health
from embtie_widgets.app.landing import words
from embtie_widgets.app.rooms import Room
from embtie_widgets.app.settings import ServeSettings
from embtie_widgets.app.visitors import Queue, known_name, new_name, own_query

HOME = "dashboard.ipynb"
MIB = 1 << 20


class House:
    """Doors, whose kernels start when told, and whose time passes when told."""

    def __init__(self, **settings: object) -> None:
        known = ServeSettings(visitors=3, ready=0, starting=3, keep_seconds=60, idle_minutes=20)
        known = replace(known, **settings)  # type: ignore[arg-type]
        self.now, self.working = 1000.0, set[str]()
        self.ended: list[tuple[str, bool]] = []
        self.reached: dict[str, int] = {}
        self.dead, self.kept = set[str](), dict[str, int]()
        self.doors = Doors(known, self, HOME, self._at_work, lambda: self.now)

    def start(self, room: Room) -> None:
        self.reached[room.kernel] = 0

    def end(self, room: Room, *, now: bool = False) -> None:
        self.ended.append((room.kernel, now))

    def is_alive(self, room: Room) -> bool:
        return room.kernel not in self.dead

    def pages(self, room: Room) -> int:
        return self.reached[room.kernel]

    def unread(self, room: Room) -> int:
        return self.kept.get(room.kernel, 0)

    def forget(self, room: Room) -> None:
        self.kept.pop(room.kernel, None)

    def _at_work(self, rooms: Collection[Room]) -> set[str]:
        return {room.kernel for room in rooms} & self.working

    def come(self, visitor: str, query: str = "", *, open_page: bool = True) -> Room | None:
        """A visitor asks for the page, which then finds its kernel."""
        room = self.doors.enter(visitor, HOME, query)
        if room is not None and open_page:
            self.page_opens(room)
        return room

    def page_opens(self, room: Room) -> None:
        room.finish()
        self.reached[room.kernel] = 1
        self.doors.tend()

    def page_closes(self, room: Room, query: str | None = None, *, said: bool = True) -> None:
        if said:
            self.doors.leave(room.kernel, query)
        self.reached[room.kernel] = 0
        self.doors.tend()

    def wait(self, seconds: float) -> None:
        """Time passes, and the doors are tended meanwhile."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + 1)
            self.doors.tend()

    def why(self, room: Room) -> str:
        told = self.doors.why(room.kernel)
        return told.why if told else ""


def sure(room: Room | None) -> Room:
    assert room is not None
    return room


def test_a_page_that_was_left_finds_its_kernel_again_for_a_while() -> None:
    house = House()
    room = sure(house.come("ann", "?embtie=1&kind=lens"))
    house.wait(30)
    house.page_closes(room, "?embtie=1&kind=lens&layer=3")  # as its address was meanwhile
    house.wait(59)
    assert house.come("ann", "embtie=1&kind=lens&layer=3&theme=dark") is room
    house.page_closes(room, "?embtie=1&kind=lens&layer=3")
    house.wait(61)
    assert house.why(room) == "left"
    assert house.come("ann", "embtie=1&kind=lens&layer=3") is not room


def test_nobody_else_and_no_other_link_gets_a_room_that_was_left() -> None:
    house = House()
    room = sure(house.come("ann", "embtie=1&kind=lens"))
    house.page_closes(room, "?embtie=1&kind=lens")
    assert house.come("bob", "embtie=1&kind=lens") is not room
    assert house.come("ann", "embtie=1&kind=align") is not room
    assert house.come("ann", "embtie=1&kind=lens") is room


def test_two_tabs_of_one_browser_keep_one_kernel_each() -> None:
    house = House()
    first, second = sure(house.come("ann")), sure(house.come("ann"))
    assert first is not second
    house.page_closes(second, "")
    assert house.come("ann") is second
    third = sure(house.come("ann", open_page=False))
    third.finish()
    assert house.come("ann") is None  # a page on its way is one too, and three is all there are
    assert third not in (first, second)


def test_a_page_cut_off_without_a_word_finds_its_kernel_again() -> None:
    house = House()
    room = sure(house.come("ann"))
    house.page_closes(room, said=False)
    house.wait(11)
    assert house.come("ann") is room
    house.page_closes(room, said=False)
    house.wait(19 * 60)
    assert house.why(room) == ""
    house.wait(2 * 60)
    assert house.why(room) == "away"


def test_a_page_cut_off_for_a_minute_makes_way_for_who_waits_after_those_that_were_left() -> None:
    house = House()  # of three places
    asleep, working, left = (sure(house.come(name)) for name in ("ann", "bea", "cyd"))
    house.working = {working.kernel}
    for room in (asleep, working):
        house.page_closes(room, said=False)
    house.wait(50)
    assert house.come("dan") is None
    assert house.why(asleep) == ""
    house.page_closes(left, "")
    house.wait(12)
    assert (house.why(asleep), house.why(left)) == ("", "left")
    assert house.come("dan") is not None
    assert house.come("eve") is None
    house.wait(3)
    assert (house.why(asleep), house.why(working)) == ("asleep", "")


def test_a_left_kernel_with_a_job_is_kept_until_it_is_done() -> None:
    house = House()
    room = sure(house.come("ann"))
    house.working = {room.kernel}
    house.page_closes(room, "")
    house.wait(10 * 60)
    assert house.why(room) == ""
    house.working = set()
    house.wait(59)
    assert house.why(room) == ""
    house.wait(2)
    assert house.why(room) == "left"


def test_a_job_keeps_a_left_kernel_no_longer_than_the_idle_minutes() -> None:
    house = House()
    room = sure(house.come("ann"))
    house.working = {room.kernel}
    house.page_closes(room, "")
    house.wait(20 * 60 + 2)
    assert house.why(room) == "away"


def test_the_job_of_a_page_that_was_closed_is_called_off_after_a_while() -> None:
    house = House(host="0.0.0.0", job_minutes=3)
    room = sure(house.come("ann"))
    house.working = {room.kernel}
    house.page_closes(room, "")
    house.wait(3 * 60 - 1)
    assert house.come("ann") is room  # a reload finds it, and the time begins anew
    house.page_closes(room, "")
    house.wait(3 * 60 - 1)
    assert house.why(room) == ""
    house.wait(2)
    assert house.why(room) == "job"
    told = house.doors.why(room.kernel)
    assert told is not None
    assert "closed for more than 3 minutes" in told.message


def test_a_job_goes_on_for_a_page_that_was_cut_off_and_on_a_page_of_ones_own() -> None:
    for said, host in ((False, "0.0.0.0"), (True, "127.0.0.1")):
        house = House(host=host, job_minutes=3)
        room = sure(house.come("ann"))
        house.working = {room.kernel}
        house.page_closes(room, "", said=said)
        house.wait(10 * 60)
        assert house.why(room) == ""


def test_what_a_closed_page_has_computed_is_kept_as_long_as_any() -> None:
    house = House(host="0.0.0.0", job_minutes=3, keep_seconds=600)
    room = sure(house.come("ann"))
    house.working = {room.kernel}
    house.page_closes(room, "")
    house.wait(60)
    house.working = set()
    house.wait(9 * 60)
    assert house.why(room) == ""


def test_what_is_kept_for_a_page_that_was_cut_off_is_bounded() -> None:
    house = House()
    room = sure(house.come("ann"))
    house.page_closes(room, said=False)
    house.kept[room.kernel] = 32 * MIB
    house.wait(2)
    assert (house.kept, house.doors.has_missed(room.kernel)) == ({room.kernel: 32 * MIB}, False)
    house.kept[room.kernel] += 1
    house.wait(20)
    assert (house.kept, house.doors.has_missed(room.kernel)) == ({}, True)
    assert house.come("ann") is room
    assert not house.doors.has_missed(room.kernel)


def test_nothing_is_kept_for_a_page_that_was_left() -> None:
    house = House()
    room = sure(house.come("ann"))
    house.kept[room.kernel] = 1
    house.page_closes(room, "")
    assert house.kept == {}
    assert not house.doors.has_missed(room.kernel)


def test_nothing_is_kept_for_a_page_whose_kernel_died() -> None:
    house = House()
    room = sure(house.come("ann"))
    assert house.doors.is_reached(room.kernel)
    house.kept[room.kernel] = 1
    house.page_closes(room, said=False)
    assert not house.doors.is_reached(room.kernel)
    house.dead.add(room.kernel)
    house.wait(1)
    assert (house.why(room), house.kept) == ("died", {})
    assert not house.doors.is_reached(room.kernel)


def test_a_late_word_of_leaving_counts_only_for_who_did_not_come_back() -> None:
    house = House()
    room = sure(house.come("ann"))
    house.doors.leave(room.kernel, "", "late")  # of the page before, whose reload this is
    assert room.left is None
    house.wait(6)
    house.doors.leave(room.kernel, "", "late")
    assert room.left == house.now


def test_a_page_that_nobody_looked_at_is_found_by_its_last_address() -> None:
    house = House()
    room = sure(house.come("ann", "embtie=1"))
    house.doors.leave(room.kernel, "?embtie=1&kind=lens", "hidden")
    assert room.left is None
    house.page_closes(room, said=False)  # thrown away by the browser
    house.wait(300)
    assert house.come("ann", "embtie=1&kind=lens") is room


def test_a_page_that_said_it_leaves_and_stayed_is_not_ended() -> None:
    house = House()
    room = sure(house.come("ann"))
    house.doors.leave(room.kernel, "")
    house.wait(200)
    house.page_closes(room, said=False)
    house.wait(200)
    assert house.why(room) == ""


def test_a_page_that_never_came_frees_its_place() -> None:
    house = House()
    room = sure(house.come("robot", open_page=False))
    room.finish()
    house.wait(119)
    assert house.why(room) == ""
    house.wait(3)
    assert house.why(room) == "left"
    lost = sure(house.come("ann", open_page=False))
    house.doors.lost(lost)
    lost.finish()
    house.wait(62)
    assert house.why(lost) == "left"


def test_who_finds_all_places_taken_waits_and_comes_in_by_arrival() -> None:
    house = House()
    rooms = [sure(house.come(name)) for name in ("a", "b", "c")]
    assert house.come("d") is None
    assert house.come("e") is None
    look = house.doors.look("e", HOME)
    assert (look.open, look.before, look.taken, look.places) == (False, 1, 3, 3)
    assert words(look).queue == "One visitor waits before you."
    assert "all 3 places are taken" in words(look).text
    house.page_closes(rooms[0], "")
    house.wait(4)
    house.doors.look("d", HOME)
    house.doors.look("e", HOME)
    house.wait(4)  # within which a reload would come back, its room is kept
    assert house.why(rooms[0]) == "left"
    assert not house.doors.look("e", HOME).open
    assert house.doors.look("d", HOME).open
    assert house.come("e") is None
    assert house.come("d") is not None


def test_who_has_closed_the_landing_page_holds_nobody_up_but_keeps_the_number_for_a_while() -> None:
    house = House(visitors=1)
    house.come("a")
    assert house.come("gone") is None
    house.now += 1
    assert house.come("d") is None
    house.now += 7.5
    assert house.doors.look("d", HOME).before == 0
    assert house.doors.look("gone", HOME).before == 0  # back again
    assert house.doors.look("d", HOME).before == 1
    house.now += 91
    assert house.doors.look("d", HOME).before == 0
    assert house.doors.look("gone", HOME).before == 1


def test_a_room_that_was_left_just_now_or_works_makes_no_place() -> None:
    house = House(visitors=2)
    left, working = sure(house.come("a")), sure(house.come("b"))
    house.working = {working.kernel}
    house.page_closes(working, "")
    house.wait(30)
    house.page_closes(left, "")
    assert house.come("c") is None
    house.wait(3)
    assert house.come("a") is left
    house.page_closes(left, "")
    for _ in range(7):
        house.doors.look("c", HOME)
        house.wait(1)
    assert (house.why(left), house.why(working)) == ("left", "")


def test_only_so_many_start_at_a_time() -> None:
    house = House(visitors=10, starting=2)
    first = sure(house.come("a", open_page=False))
    sure(house.come("b", open_page=False))
    assert house.come("c", open_page=False) is None
    assert words(house.doors.look("c", HOME)).title == "Starting"
    house.page_opens(first)
    assert house.come("c", open_page=False) is not None
    assert house.come("d", open_page=False) is None


def test_rooms_stand_ready_and_are_filled_up_within_the_places() -> None:
    house = House(visitors=3, ready=2, starting=1)
    house.doors.tend()
    assert len(house.doors.rooms) == 1
    next(iter(house.doors.rooms.values())).finish()
    house.doors.tend()
    ready = list(house.doors.rooms.values())
    assert (len(ready), house.doors.ready()) == (2, 1)
    ready[1].finish()
    assert house.come("a") is ready[0]
    assert house.come("b") is ready[1]
    house.wait(10)
    assert len(house.doors.rooms) == 3
    last = next(reversed(house.doors.rooms.values()))
    last.finish()
    assert house.doors.ready() == 1
    assert house.come("c") is last
    house.wait(10)
    assert len(house.doors.rooms) == 3


def test_who_comes_gets_the_ready_room_that_is_whole_and_else_one_that_starts() -> None:
    house = House(ready=2)
    house.doors.tend()
    early, whole = house.doors.rooms.values()
    whole.finish()
    assert house.come("a", open_page=False) is whole
    assert house.come("b", open_page=False) is early


def test_a_ready_kernel_that_dies_is_replaced_and_one_that_cannot_start_is_told() -> None:
    house = House(ready=1)
    house.doors.tend()
    room = next(iter(house.doors.rooms.values()))
    room.finish()
    house.dead.add(room.kernel)
    house.wait(4)
    assert house.why(room) == "died"
    assert room.kernel not in dict(house.ended)
    other = sure(house.come("a", open_page=False))
    other.finish(failed=True)
    house.doors.tend()
    assert house.why(other) == "start"


def test_a_visitor_over_the_memory_loses_the_kernel_and_is_told_why() -> None:
    house = House(visitor_memory=100)
    large, small = sure(house.come("a")), sure(house.come("b"))
    house.doors.weigh({large.kernel: 101 * MIB, small.kernel: 99 * MIB}, 1000 * MIB)
    assert (house.why(large), house.why(small)) == ("memory", "")
    assert house.ended == [(large.kernel, True)]
    told = house.doors.why(large.kernel)
    assert told is not None
    assert "100 MiB" in told.message
    assert not house.doors.full_memory


def test_when_memory_is_short_the_left_go_first_and_nobody_new_comes_in() -> None:
    house = House(ready=1)
    left, open_room = sure(house.come("a")), sure(house.come("b"))
    house.wait(4)
    assert len(house.doors.rooms) == 3
    house.page_closes(left, "")
    house.wait(6)
    house.doors.weigh({left.kernel: 60 * MIB, open_room.kernel: 60 * MIB}, 100 * MIB)
    assert (house.why(left), house.why(open_room)) == ("left", "")
    assert house.come("c") is None
    assert "memory" in words(house.doors.look("c", HOME)).text
    house.page_closes(open_room, "")
    assert house.come("b") is open_room
    house.doors.weigh({open_room.kernel: 60 * MIB}, 100 * MIB)
    assert house.come("c") is not None


def test_who_keeps_no_cookie_has_no_number_and_comes_in_when_nobody_waits() -> None:
    house = House(visitors=1)
    room = sure(house.come("a"))
    for name in ("nameless", "nameless again"):
        assert house.doors.enter(name, HOME, "", waits=False) is None
    assert house.come("b") is None
    assert house.doors.look("b", HOME).before == 0
    assert house.doors.look("nameless", HOME, waits=False).before == 1
    house.doors.leave(room.kernel, "")
    house.page_closes(room)
    for _ in range(6):
        house.doors.look("b", HOME)
        house.wait(1)
    assert house.doors.enter("nameless", HOME, "", waits=False) is None
    house.wait(9)  # b has gone
    assert house.doors.enter("nameless", HOME, "", waits=False) is not None


def test_a_flood_without_cookies_holds_few_places_and_a_reader_comes_in() -> None:
    house = House(host="0.0.0.0", visitors=8, starting=2)
    flood = [house.doors.enter(f"program {n}", HOME, "", waits=False) for n in range(200)]
    held = [room for room in flood if room is not None]
    assert len(held) == 2
    for room in held:
        room.finish()
    assert not house.doors.look("reader", HOME, waits=False).open  # as yet without a cookie
    assert house.come("reader") is not None  # its landing page asks with one
    house.page_opens(held[0])  # a reader after all: makes way for the next
    assert house.doors.enter("another program", HOME, "", waits=False) is not None


def test_a_reload_with_the_cookie_is_a_readers() -> None:
    house = House(host="0.0.0.0", visitors=2)
    room = sure(house.doors.enter("ann", HOME, "", waits=False))
    assert house.doors.enter("program", HOME, "", waits=False) is None
    room.finish()
    house.doors.leave(room.kernel, "")
    assert house.doors.enter("ann", HOME, "") is room
    assert house.doors.enter("program", HOME, "", waits=False) is not None


def test_one_visitor_has_only_so_many_pages_and_is_told_what_to_do() -> None:
    house = House(visitors=9, pages=2, host="0.0.0.0")
    first, _second = sure(house.come("ann", "a=1")), sure(house.come("ann", "a=2"))
    assert house.come("ann", "a=3") is None
    look = house.doors.look("ann", HOME)
    said = words(look)
    assert (look.open, look.reason, len(house.doors.queue)) == (False, "pages", 0)
    assert "2 pages" in said.text
    assert "Close one of them" in said.text
    assert "number" not in said.how
    assert house.come("bob") is not None
    house.page_closes(first, "a=1")
    assert not house.doors.look("ann", HOME).open  # it may be a reload
    house.wait(6)
    assert house.doors.look("ann", HOME).open
    assert house.why(first) == ""  # to ask ends nothing
    assert house.come("ann", "a=3") is not None
    assert house.why(first) == "pages"


def test_a_page_that_is_reloaded_is_none_more() -> None:
    house = House(visitors=9, pages=1, host="0.0.0.0")
    room = sure(house.come("ann", "a=1"))
    house.page_closes(room, "a=1")
    assert house.come("ann", "a=1") is room


def test_a_page_with_a_job_or_that_its_browser_has_now_lost_makes_no_way_for_another() -> None:
    house = House(visitors=9, pages=2, host="0.0.0.0")
    working, asleep = sure(house.come("ann", "a=1")), sure(house.come("ann", "a=2"))
    house.working = {working.kernel}
    house.page_closes(working, "a=1")
    house.page_closes(asleep, said=False)
    house.wait(9)
    assert house.come("ann", "a=3") is None
    house.wait(2)
    assert house.come("ann", "a=3") is not None
    assert (house.why(working), house.why(asleep)) == ("", "pages")


def test_a_user_of_the_hub_is_one_visitor_in_all_browsers() -> None:
    house = House(visitors=9, pages=1, sign_in="jupyterhub", proxied=True)
    assert house.come("ann:one") is not None
    assert house.come("ann:two") is None
    assert house.come("bob:one") is not None


def test_browsers_that_nobody_signed_in_are_not_one_visitor() -> None:
    house = House(visitors=9, pages=1, host="0.0.0.0")
    assert house.come(":one") is not None
    assert house.come(":two") is not None
    assert house.come(":two") is None


def test_who_is_alone_on_a_machine_opens_what_they_like() -> None:
    house = House(visitors=9, pages=1)
    assert house.come("ann") is not None
    assert house.come("ann") is not None


def test_a_start_that_takes_for_ever_is_given_up_and_its_page_ends() -> None:
    house = House()
    room = sure(house.come("a", open_page=False))
    house.wait(181)
    assert (house.why(room), room.finished, room.failed) == ("start", True, True)


def test_a_kernel_that_nobody_remembers_has_ended_for_an_unknown_reason() -> None:
    told = House().doors.why("0" * 36)
    assert told is not None
    assert told.why == "unknown"


@pytest.mark.parametrize("told", ["", "a", "x" * 23, "é" * 22, "../../../../etc/passwd", None])
def test_only_a_name_that_could_be_ours_is_taken(told: str | None) -> None:
    assert known_name(told) is None
    assert known_name(new_name()) is not None


def test_what_an_address_says_of_looks_and_sign_in_is_not_its_content() -> None:
    assert own_query("?a=1&theme=dark&token=secret&b=") == own_query("a=1&b=")
    assert own_query("a=%20x") == own_query("a=+x")
    assert own_query("") == ""


def test_a_crowd_of_nameless_visitors_makes_no_endless_queue() -> None:
    queue = Queue(lambda: 0.0)
    for number in range(3000):
        assert queue.ask(str(number)) <= 1000
    assert len(queue) == 1000


def test_a_server_whose_last_kernel_did_not_start_is_failing_until_one_does() -> None:
    house = House()
    assert not house.doors.failing
    room = house.come("a", open_page=False)
    assert room is not None
    room.finish(failed=True)
    house.wait(1)
    assert health(house.doors)["status"] == "failing"
    house.come("a")
    assert health(house.doors) == {
        "status": "ok",
        "visitors": 1,
        "places": 3,
        "waiting": 0,
        "ready": 0,
    }


def test_a_server_is_full_when_nobody_else_can_come_in() -> None:
    house = House(visitors=1)
    house.come("a")
    assert house.come("b") is None
    assert health(house.doors)["status"] == "full"
    assert health(house.doors)["waiting"] == 1
