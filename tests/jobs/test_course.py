"""Several runs told as one."""

from embtie_widgets.jobs.course import Course


def test_the_steps_of_all_runs_are_counted_together_and_other_stages_are_told_as_they_are() -> None:
    told: list[tuple[str, int, int]] = []
    course = Course(lambda *said: told.append(said), 2)
    course("building tied", 0, 1)
    course("training tied", 1, 3)
    course("training tied", 3, 3)
    course("loss of tied on text held out", 0, 1)
    course("following untied", 2, 3)
    assert told == [
        ("building tied", 0, 1),
        ("training 2 models", 1, 6),
        ("training 2 models", 3, 6),
        ("loss of tied on text held out", 0, 1),
        ("training 2 models", 5, 6),
    ]


def test_a_run_alone_keeps_its_name() -> None:
    told: list[tuple[str, int, int]] = []
    Course(lambda *said: told.append(said), 1)("training tied", 1, 3)
    assert told == [("training tied", 1, 3)]
