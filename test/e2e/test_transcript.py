"""The runner of cases: what it takes for a failure, and what rows of a case share."""

import pytest
import transcript

OUT, ERR = ["rank 5 is slow", "8"], ["sonde: error: no step"]


class Place:
    """Answers every command alike, and remembers what was done in it."""

    def __init__(self, made, out=None, status=0):
        self.done, self.out, self.status = [], OUT if out is None else out, status
        made.append(self)

    def run(self, text, content):
        self.done.append(text)
        return self.status, self.out, ERR

    def ask_all(self, statements):
        self.done += statements
        return [(self.status, self.out, ERR) for _ in statements]

    def clear(self):
        self.done.append("clear")


@pytest.fixture(name="cases")
def make_cases(tmp_path):
    def read(text):
        path = tmp_path / "cases.txt"
        path.write_text(text)
        return transcript.read(path)

    return read


@pytest.mark.parametrize(
    ("expected", "holds"),
    [
        ("+ is slow", True), ("+ is fast", False), ("- is fast", True), ("- is slow", False),
        ("~ ^rank \\d is", True), ("~ ^is", False),
        ("! no step", True), ("! a step", False), ("!- a step", True), ("!- no step", False),
        ("!= sonde: error:", True), ("!= no step", False),
        ("| rank 5 is slow\n| 8", True), ("| 8", False), ("|", False), ("[1]", False),
    ],
)  # fmt: skip
def test_what_is_expected(expected, holds, cases):
    (case,) = cases(f"## A title\n$ sonde x\n{expected}\n")
    if holds:
        transcript.check(case, lambda: Place([]))
    else:
        with pytest.raises(AssertionError, match=r"\$ sonde x"):
            transcript.check(case, lambda: Place([]))


def test_an_empty_line_is_nothing(cases):
    (case,) = cases("## A title\n$ sonde x\n|\n")
    transcript.check(case, lambda: Place([], out=[]))


def test_texts_of_a_file_have_names(cases):
    (case,) = cases(
        "let T 7\nlet of SELECT $1 -\n  {T} FROM t\n\n## A title\n? @of ts\n? SELECT {T}\n"
    )
    assert [step.text for step in case.steps] == ["? SELECT ts - 7 FROM t", "? SELECT 7"]


def test_rows_share_what_does_not_differ(cases):
    made = []
    for case in cases("## A title\nfor mode = a | b\n$ copy x y\n$ sonde {mode}\n"):
        transcript.check(case, lambda: Place(made))
    assert [place.done for place in made] == [["copy x y", "clear", "sonde a", "clear", "sonde b"]]


def test_rows_that_change_their_input_share_nothing(cases):
    made = []
    for case in cases("## A title\nfor what = a | b\n$ copy x y\n$ remove {what}\n$ sonde x\n"):
        transcript.check(case, lambda: Place(made))
    assert [place.done[1] for place in made] == ["remove a", "remove b"]


def test_statements_are_asked_together(cases):
    made = []
    (case,) = cases("## A title\n$ ask t\n> SELECT 1\n? SELECT 2\n? SELECT 3\n")
    transcript.check(case, lambda: Place(made))
    assert made[0].done == ["ask t SELECT 1", "SELECT 2", "SELECT 3"]


def test_lines_are_written_as_they_come(cases, monkeypatch):
    monkeypatch.setenv("UPDATE_CASES", "1")
    (case,) = cases("## A title\n$ sonde x\n| ?\n$ sonde y\n+ is slow\n")
    transcript.check(case, lambda: Place([]))
    text = "## A title\n$ sonde x\n| rank 5 is slow\n| 8\n$ sonde y\n+ is slow\n"
    assert case.file.read_text() == text
    with pytest.raises(AssertionError):  # an exit status is not
        transcript.check(case, lambda: Place([], status=1))
