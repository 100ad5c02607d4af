"""How this process was started."""

import os
import sys


def command_line() -> list[str]:
    """Arguments with which this process was started, interpreter first."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            parts = file.read().split(b"\0")
        return [os.fsdecode(part) for part in parts[:-1]]
    except OSError:
        return [sys.executable, *sys.argv]


def program_of(command: list[str]) -> tuple[str, str]:
    """(module after ``-m``, script) that the interpreter runs, of which one is empty; both are for
    ``-c`` and for standard input. ``command`` begins with the interpreter."""
    words = iter(command[1:])
    for word in words:
        if word == "--check-hash-based-pycs":
            next(words, "")
        elif word.startswith("--"):
            continue
        elif not word.startswith("-") or word == "-":
            return "", word.rstrip("-")
        else:
            # Letters may stand together; of these the rest of the word is the value, or the next.
            at = next((at for at, letter in enumerate(word) if letter in "cmWX"), None)
            if at is None:
                continue
            value = word[at + 1 :] or next(words, "")
            if word[at] in "cm":
                return (value if word[at] == "m" else ""), ""
    return "", ""
