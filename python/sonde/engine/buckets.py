"""Copies files between this machine and object storage: ``python -m sonde.engine.buckets get|put
URI FOLDER --report FILE``.

Started by the command for ``s3://``, ``gs://`` and whatever else fsspec knows. Credentials are
found by the library of the storage (environment, its own files, the machine's role), never in a
URI. ``--names``: lines ``BYTES NAME`` of what is wanted, BYTES -1 where the size is not known; else
all that lies there is. ``put`` writes in that order, the last one only if nobody replaced it since
``get`` read it (``--seen FILE`` keeps what was read). A request that fails is repeated.
"""

import argparse
import concurrent.futures
import contextlib
import importlib
import json
import os
import posixpath
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any, Callable, Optional, TypeVar
from urllib.parse import urlsplit

_ATTEMPTS = 6
_THREADS = 16
_CHANGED = ("LastModified", "mtime", "updated", "last_modified")  # keys of storages
_FIRST_WAIT_S = 0.1
_FOR_GOOD = ("NoCredentials", "PartialCredentials", "InvalidAccessKeyId", "SignatureDoesNotMatch",
             "NoSuchBucket", "GoogleAuth", "DefaultCredentials")  # fmt: skip
_Value = TypeVar("_Value")


class Failed(Exception):
    """The text is one line for people."""


def _reason(error: BaseException) -> str:
    """Of the error and what caused it, without what a library quotes of the request."""
    names, cause = [], error  # type: list[str], Optional[BaseException]
    while cause is not None and cause not in names:
        names.append(f"{type(cause).__name__} {cause}")
        cause = cause.__cause__
    text = " ".join(names)
    if any(word in text for word in ("NoCredentials", "PartialCredentials", "DefaultCredentials")):
        return "there are no credentials: set those of its library (for S3 AWS_ACCESS_KEY_ID or "\
            "~/.aws, for GCS GOOGLE_APPLICATION_CREDENTIALS)"  # fmt: skip
    if isinstance(error, PermissionError) or "InvalidAccessKeyId" in text:
        return "no permission"
    if isinstance(error, FileNotFoundError) or "NoSuchBucket" in text:
        return "there is nothing of that name"
    return type(error).__name__


def _is_for_good(error: BaseException) -> bool:
    if isinstance(error, (PermissionError, FileNotFoundError, ValueError)):
        return True
    names = f"{type(error).__name__} {error} {error.__cause__!r}"
    return any(word in names for word in _FOR_GOOD)


def _again(what: str, action: Callable[[], _Value]) -> _Value:
    """The action's value; one that fails is repeated, with a pause that grows."""
    for attempt in range(_ATTEMPTS):
        try:
            return action()
        except Failed:
            raise
        except Exception as error:  # whatever the storage's library has for a failed request
            if _is_for_good(error) or attempt + 1 == _ATTEMPTS:
                raise Failed(f"'{what}': {_reason(error)}") from None
            time.sleep(_FIRST_WAIT_S * 2**attempt)
    raise AssertionError


class Bucket:
    """What lies below a URI."""

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        if "@" in parts.netloc or parts.query:
            raise Failed(f"'{parts.scheme}://...': credentials and options are not read from a URI")
        self._uri = uri.rstrip("/")
        self._times: dict[str, float] = {}  # of last change, by name
        try:
            fsspec = importlib.import_module("fsspec")
            self._files = fsspec.filesystem(parts.scheme, **self._options(parts.scheme))
        except (ImportError, ValueError) as error:
            raise Failed(
                f"'{self._uri}': {error}: install it (pip install 'sonde[s3]' or 'sonde[gcs]'), "
                "or name a Python that has it in SONDE_ENGINE_PYTHON"
            ) from None
        self._root = self._files._strip_protocol(self._uri)

    @staticmethod
    def _options(scheme: str) -> dict[str, Any]:
        return {"skip_instance_cache": True, "use_listings_cache": False} if scheme else {}

    def _place(self, name: str) -> str:
        return posixpath.join(self._root, name) if name else str(self._root)

    def _shown(self, name: str) -> str:
        return f"{self._uri}/{name}" if name else self._uri

    def names(self) -> Iterator[tuple[int, str]]:
        """Size and name of all that lies there."""
        found = _again(self._uri, lambda: self._files.find(self._root, detail=True))
        if not found:
            raise Failed(f"'{self._uri}': there is nothing of that name")
        if list(found) == [self._root]:  # an object by itself
            self._root = posixpath.dirname(self._root)
        for path, info in sorted(found.items()):
            name = posixpath.relpath(path, self._root)
            changed = next(
                (info[key] for key in _CHANGED if hasattr(info.get(key), "timestamp")), None
            )
            if changed is not None:
                self._times[name] = changed.timestamp()
            yield info["size"], name

    def has_any(self) -> bool:
        return bool(_again(self._uri, lambda: self._files.find(self._root)))

    def version(self, name: str) -> Optional[str]:
        """What changes when the object is replaced; none where there is no object."""
        info = _again(self._shown(name), lambda: self._info(name))
        return None if info is None else str(info.get("ETag") or info.get("etag") or info)

    def _info(self, name: str) -> Optional[dict[str, Any]]:
        try:
            self._files.invalidate_cache()
            return dict(self._files.info(self._place(name)))
        except FileNotFoundError:
            return None

    def get(self, name: str, size: int, folder: str) -> None:
        """A whole file or none."""
        target = os.path.join(folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)

        with tempfile.TemporaryDirectory(prefix=".sonde-", dir=os.path.dirname(target)) as own:
            path = os.path.join(own, "object")
            _again(self._shown(name), lambda: self._files.get_file(self._place(name), path))
            came = os.path.getsize(path)
            if size not in (-1, came):
                raise Failed(f"'{self._shown(name)}' is cut off: {came} of {size} bytes")
            if name in self._times:  # parts are named by it
                os.utime(path, (self._times[name], self._times[name]))
            os.replace(path, target)

    def put(self, name: str, folder: str) -> None:
        """The storage shows an object once it is whole."""
        path = os.path.join(folder, name)
        _again(self._shown(name), lambda: self._files.put_file(path, self._place(name)))


def _wanted(names: Optional[str]) -> Optional[list[tuple[int, str]]]:
    if names is None:
        return None
    with open(names, encoding="utf-8") as file:
        parts = [line.rstrip("\n").partition(" ") for line in file]
    return [(int(size), name) for size, _, name in parts]


def _at_once(action: Callable[[int, str], None], names: list[tuple[int, str]]) -> None:
    """Several at a time: most of the time of a small object is waiting for it."""
    with concurrent.futures.ThreadPoolExecutor(_THREADS) as threads:
        done = [threads.submit(action, *each) for each in names]
        try:
            for each in concurrent.futures.as_completed(done):
                each.result()
        finally:
            threads.shutdown(cancel_futures=True)


def _get(bucket: Bucket, folder: str, names: Optional[list[tuple[int, str]]], seen: str) -> None:
    versions = {}
    wanted = list(bucket.names() if names is None else names)
    if seen:
        versions = {name: bucket.version(name) for _, name in wanted}
        wanted = [each for each in wanted if versions[each[1]] is not None]  # else to be made
    _at_once(lambda size, name: bucket.get(name, size, folder), wanted)
    if seen:
        with open(seen, "x", encoding="utf-8") as file:
            json.dump(versions, file)


def _put(bucket: Bucket, folder: str, names: list[tuple[int, str]], seen: str) -> None:
    *others, (_, last) = names
    _at_once(lambda _, name: bucket.put(name, folder), others)
    with contextlib.ExitStack() as stack:
        if seen:
            file = stack.enter_context(open(seen, encoding="utf-8"))
            if json.load(file).get(last) != bucket.version(last):
                raise Failed(f"'{bucket._shown(last)}': another writer changed it; try again")
    bucket.put(last, folder)


def main() -> None:
    """Writes the report: ``{}``, or ``error`` with one line for people."""
    parser = argparse.ArgumentParser(prog="sonde.engine.buckets")
    parser.add_argument("direction", choices=("get", "put"))
    parser.add_argument("uri")
    parser.add_argument("folder")
    parser.add_argument("--names")
    parser.add_argument("--seen", default="")
    parser.add_argument("--maybe", action="store_true", help="nothing needs to be there")
    parser.add_argument("--report", required=True)
    words = parser.parse_args()
    report = {}
    try:
        bucket, names = Bucket(words.uri), _wanted(words.names)
        if words.direction == "put":
            _put(bucket, words.folder, names or list(_below(words.folder)), words.seen)
        elif names is not None or bucket.has_any() or not words.maybe:
            _get(bucket, words.folder, names, words.seen)
    except Failed as error:
        report["error"] = " ".join(str(error).split())
    except OSError as error:
        report["error"] = f"cannot write '{error.filename}': {error.strerror}"
    except KeyboardInterrupt:
        sys.exit(130)
    with open(words.report, "x", encoding="utf-8") as file:
        json.dump(report, file)


def _below(folder: str) -> Iterator[tuple[int, str]]:
    for path, _, names in os.walk(folder):
        for name in sorted(names):
            file = os.path.join(path, name)
            yield os.path.getsize(file), os.path.relpath(file, folder)


if __name__ == "__main__":
    main()
