"""Refuses ways around the places that make foreign text harmless.

Names come from programs and files of others, command lines and environments hold secrets. So:
standard output and error are written by PrintText, PrintJson, PrintError and PrintNotice
(src/cli/command.h), cells of csv by CsvWriter::Text and CsvCell, and who reads a command line or an
environment to keep it masks it (src/base/secrets.h).
"""

import re
import sys

import source_tree

NOT_SHIPPED = re.compile(r"(_test|_fuzz|_bench|_main|test_support)\.(cc|h)$|/(testing|fuzz)/")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
PRINTS = re.compile(
    r"\bstd::(?:printf|puts|cout|cerr|clog)\b|\b(?:fprintf|fputs|fputc|fwrite)\s*\("
)
RAW_CELL = re.compile(r"\bRawText\s*\(")
SECRETS = re.compile(r"/proc/self/cmdline|\benviron\b")

# A file, and what it may use because it makes the text harmless itself or has none of others.
ALLOWED = {
    "src/base/changed_inputs.h": PRINTS,  # of fuzz tests
    "src/base/host/progress.cc": PRINTS,  # titles of ours
    "src/cli/cmd_query.cc": PRINTS,  # the prompt
    "src/cli/dispatch.cc": PRINTS,  # PrintText and the others
    "src/cli/line_editor.cc": PRINTS,  # draws what the user types
    "src/cli/query_output.cc": PRINTS,
    "src/probe/numpy_file.cc": PRINTS,  # bytes into a file
    "src/cli/environment.cc": SECRETS,  # hands it to the program that is started
    "src/store/statement_process.cc": SECRETS,  # likewise
}
# Only where the user asks for texts as they are.
RAW_CELLS = ("src/report/csv_writer", "src/cli/query_output.cc", "src/serve/handlers/export.cc")
# Linked into the programs of others, where messages go to their standard error.
RECORDER = ("src/record/", "src/adapt/", "src/base/check.cc")


def faults_in(path, text):
    """(position, what is wrong)."""
    text = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    allowed = ALLOWED.get(path)
    if allowed is not PRINTS and not path.startswith(RECORDER):
        for match in PRINTS.finditer(text):
            yield match.start(), "output that bypasses PrintText and PrintJson"
    if not path.startswith(RAW_CELLS):
        for match in RAW_CELL.finditer(text):
            yield match.start(), "a csv cell that a spreadsheet may run"
    if allowed is not SECRETS and '"base/secrets.h"' not in text:
        for match in SECRETS.finditer(text):
            yield match.start(), "a command line or environment without base/secrets.h"


def main():
    problems = []
    for path in map(str, source_tree.cpp_files()):
        if path.startswith("src/") and not NOT_SHIPPED.search(path):
            text = source_tree.read(path)
            for position, fault in faults_in(path, text):
                problems.append(f"{path}:{text.count(chr(10), 0, position) + 1}: {fault}")
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
