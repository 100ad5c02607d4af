"""What a worker does: one part of ``sonde cluster map``. It is sent by value, so that the worker's
Python needs its standard library alone; its machine needs the command ``sonde``."""

import errno
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Optional


def map_part(
    command: str, words: list[str], files: dict[str, bytes], memory: Optional[int]
) -> dict[str, bytes]:
    """The files that the command wrote, by name. ``files``: what it reads, in a folder for which
    ``{files}`` stands in the words. ``memory``: bytes that it may take."""

    def limit() -> None:
        if memory is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))

    host = os.uname().nodename
    program = command if os.access(command, os.X_OK) else shutil.which("sonde")
    if program is None:
        raise RuntimeError(f"there is no sonde on {host}: install it on every worker")
    with tempfile.TemporaryDirectory(prefix="sonde-task-") as folder:
        for name, content in files.items():
            with open(os.path.join(folder, name), "xb") as file:
                file.write(content)
        made = os.path.join(folder, "made")
        full = [program, *(word.replace("{files}", folder) for word in words), "-o", made]
        done = subprocess.run(full, stdin=subprocess.DEVNULL, capture_output=True, preexec_fn=limit)
        if done.returncode != 0:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            reason = f"signal {-done.returncode}" if done.returncode < 0 else (lines or [""])[-1]
            # OSError: of this machine, and not of the work; then another one tries
            kind = OSError if os.strerror(errno.ENOSPC) in reason else RuntimeError
            raise kind(f"on {host}: {reason.removeprefix('sonde: error: ')}")
        return {path.name: path.read_bytes() for path in Path(made).glob("[!.]*.parquet")}


map_part.__module__ = "__main__"  # then engines send it by value
