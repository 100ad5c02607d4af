"""Builds a target and shows one line of progress instead of what the compiler prints.

quiet_build.py FOLDER JOBS TARGET [LOG]

On a terminal one line counts up; elsewhere a line stands at each quarter. What ninja prints goes to
LOG (FOLDER/build.log); when the build fails, the part that failed is printed. `make demo` runs it.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

COUNT = re.compile(r"\[(\d+)/(\d+)\] (\S+)")
FAILED = re.compile(r"^FAILED: ")
QUARTERS = 4
SHOWN_LINES = 60


class Progress:
    """The line that counts up, or a line a quarter where the output is no terminal."""

    def __init__(self, output):
        self.output = output
        self.is_terminal = output.isatty()
        self.quarter = 0
        self.total = 0

    def step(self, done, total, verb):
        """Shows that `done` of `total` steps are finished; `verb` is ninja's word for the last."""
        self.total = total
        if self.is_terminal:
            work = {"Linking": "linking", "Building": "compiling"}.get(verb, "preparing")
            self.output.write(f"\r\033[K[{done:>{len(str(total))}}/{total}] {work}")
            self.output.flush()
        elif done * QUARTERS // total > self.quarter:
            self.quarter = done * QUARTERS // total
            self.output.write(f"[{done}/{total}] built\n")
            self.output.flush()

    def end(self):
        """Removes the line that counted."""
        if self.is_terminal:
            self.output.write("\r\033[K")


def failed_part(log):
    """Lines of the log from the first failed step on, without the steps that went well."""
    lines = log.splitlines()
    first = next((i for i, line in enumerate(lines) if FAILED.match(line)), max(len(lines) - 20, 0))
    return [line for line in lines[first:] if not COUNT.match(line)][:SHOWN_LINES]


def run(command, log_path, progress):
    """Runs the build; returns its exit status. The log has all that it printed."""
    with log_path.open("w", encoding="utf-8") as log:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process:
            for line in process.stdout:
                log.write(line)
                match = COUNT.match(line)
                if match:
                    progress.step(int(match[1]), int(match[2]), match[3])
    progress.end()
    return process.returncode


def main():
    folder, jobs, target = sys.argv[1:4]
    log_path = Path(sys.argv[4]) if len(sys.argv) > 4 else Path(folder) / "build.log"
    progress = Progress(sys.stdout)
    started = time.monotonic()
    status = run(["cmake", "--build", folder, "-j", jobs, "--target", target], log_path, progress)
    if status != 0:
        print("\n".join(failed_part(log_path.read_text(encoding="utf-8"))), file=sys.stderr)
        sys.exit(f"the build failed; all of its output is in {log_path}")
    seconds = time.monotonic() - started
    steps = f"{progress.total} steps" if progress.total else "nothing to do"
    print(f"built {target} in {seconds:.0f} s ({steps}); compiler output: {log_path}")


if __name__ == "__main__":
    main()
