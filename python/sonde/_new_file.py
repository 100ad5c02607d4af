"""How files are made in folders that others may write to, too: a link that somebody planted under
the name leads nowhere. Both are openers: ``open(path, "w", opener=create_new)``.
"""

import contextlib
import os
import stat

_MODE = 0o666  # less the umask
_ATTEMPTS = 16  # where other processes make the same file


def create_new(path: str, flags: int) -> int:
    """Creates a file in place of an older one; a link is removed, its target stays as it is."""
    flags = (flags & ~os.O_TRUNC) | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    for _ in range(_ATTEMPTS):
        try:
            return os.open(path, flags, _MODE)
        except FileExistsError:
            pass
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            kind = os.lstat(path).st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind)):
                break
            os.unlink(path)
    return os.open(path, flags, _MODE)


def going_on(path: str, flags: int) -> int:
    """The file that is there, or a new one; a link is an error (``OSError``)."""
    return os.open(path, flags | os.O_NOFOLLOW, _MODE)
