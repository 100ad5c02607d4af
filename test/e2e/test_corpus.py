"""Every trace of the corpus: sentences can be proven, and all commands answer a question the same.

`make test` takes the fast part of corpus.txt, `make test-corpus` all of it.
"""

import corpus
import pytest
import questions
import sentences


@pytest.fixture(scope="module", name="asked", params=corpus.paths(), ids=corpus.name_of)
def ask(request, sonde, tmp_path_factory):
    """An input, and the commands to ask about it."""
    return corpus.Asked(request.param, sonde, tmp_path_factory.mktemp("asked"))


@pytest.fixture(scope="module", name="page")
def serve(asked):
    """The page's server of the input."""
    with asked.page() as page:
        yield page


@pytest.mark.parametrize("check", sentences.CHECKS)
def test_sentences_can_be_proven(asked, check):
    faults = sentences.CHECKS[check](asked)
    assert not faults, "\n".join(faults)


def test_the_page_has_the_same_findings(asked, page):
    """Those of the table, whatever their order, and those about the job as a whole."""
    shown = [finding["text"] for finding in page.ask("/api/findings?lang=en")]
    assert sorted(shown) == sorted(str(finding["message"]) for finding in asked.findings)


@pytest.mark.parametrize("question", questions.questions())
def test_all_commands_answer_the_same(question, asked, page):
    assert not questions.disagreement(question, asked, page)
