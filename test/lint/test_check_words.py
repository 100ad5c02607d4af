"""tools/check_words.py on small trees: words of the list are refused; others and quotes pass."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(name="check")
def make_check(tmp_path):
    """check(text, name, *arguments): the script on a tree that has this file and a clean one."""
    (tmp_path / "tools").mkdir()
    for script in ("check_words.py", "source_tree.py"):
        shutil.copy(ROOT / "tools" / script, tmp_path / "tools")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "clean.md").write_text("The median of the steps is reported.\n")

    def check(text, name="src/a.cc", *arguments):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        command = [sys.executable, str(tmp_path / "tools" / "check_words.py"), *arguments]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
        )

    return check


@pytest.mark.parametrize(
    "text, fault",
    [
        ("// The owner is told of it.\n", "1: told: better reported"),
        ("int a;\nbool is_told;\n", "2: told: better reported"),
        ("void F(bool isTold);\n", "1: told: better"),
        ("void ToldBy();\n", "1: told by: better recognized by"),
        ("constexpr int kSaid = 1;\n", "1: said: better"),
        ("constexpr int LEAST_TOLD_MS = 1;\n", "1: told: better"),
        ("def test_it_is_said():\n    pass\n", "1: is said: better reported"),
        ("// Tells ranks from traces.\n", "1: tells: better"),
        ("// Two that lie beside\n// each other.\n", "1: beside each other: better side by side"),
        ('Log("the ranks are "\n    "said to be slow");\n', "1: are said: better reported"),
        ('    f"it begins "\n    f"anew"\n', "1: begins anew: better restart"),
        ("/* made\n * anew */\n", "1: made anew: better rewritten"),
        ("double MiddleOf(Values);\n", "1: middle of: better median"),
        ("int64_t middle_ns = 0;\n", "1: middle ns: better median"),
        ("class MeetingFolder;\n", "1: meeting: better rendezvous"),
        ("void HandOn();\n", "1: hand on: better pass on"),
        ("// The list and its kin.\n", "1: its kin: better name the similar ones"),
        ("// What it is without.\n", "1: what it is without: better name what is missing"),
        ("// This is told.  // quotes: somebody\n", "1: told: better"),
        ("// told  // quotes: torch\n// told\n", "2: told: better"),
    ],
)
def test_words_of_the_list_are_refused(check, text, fault):
    done = check(text)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(f"src/a.cc:{fault}")
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        "// The file states its version; in the middle of a file a record may be cut.\n",
        "// A fortold or retelling, a skinny stretch, meetinghouse.\n",
        "// Each hand moves. On the left is the rest.\n",
        "// What it is. Without a rank nothing is reported.\n",
        "// Both lie beside. Each other one follows.\n",
        '  kText = "Nothing is said";  // quotes: torch_npu\n',
        "<!-- quotes: msProbe --> The tensor is told.\n",
    ],
)
def test_other_words_and_quotes_pass(check, text):
    done = check(text)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_a_number_before_a_plural_is_refused(check):
    done = check('  Print(std::to_string(rows.size()),\n        " rows left out");\n', "src/a.cc")
    assert done.returncode == 1 and done.stdout.startswith("src/a.cc:2: a number and"), done.stdout
    # Of a fixed number, in a test, and by the function that knows both forms.
    assert check('Print(std::to_string(kMost), " rows");\n', "src/a.cc").returncode == 0
    assert check('Print(std::to_string(n), " rows");\n', "src/a_test.cc").returncode == 0
    assert check('Print(base::CountOf(n, "row"));\n', "src/a.cc").returncode == 0


def test_texts_of_others_are_not_read(check):
    for name in ("LICENSE", "src/x/testdata/a.txt", "test/fuzz/a/seeds/b", "web/package-lock.json"):
        done = check("told\n", name)
        assert (done.returncode, done.stdout) == (0, ""), name


def test_folders_and_files_to_check(check):
    assert check("// told\n", "src/a.cc", "docs").returncode == 0
    for path in ("src", "src/a.cc"):
        done = check("// told\n", "src/a.cc", "docs", path)
        assert done.returncode == 1 and done.stdout.startswith("src/a.cc:1: ")
