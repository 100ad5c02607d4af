"""One file out of a Python package's source archive, from the index that pip uses.

Usage: sdist_file.py NAME VERSION SHA256 FILE_IN_ARCHIVE TO

The archive is read and not run: pip would run the package's build program to learn its metadata.
"""

import hashlib
import html
import io
import os
import re
import subprocess
import sys
import tarfile
import urllib.parse
import urllib.request

DEFAULT_INDEX = "https://pypi.org/simple"


def index():
    """PIP_INDEX_URL, or what pip's configuration names."""
    given = os.environ.get("PIP_INDEX_URL")
    if given:
        return given
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return asked.stdout.strip() or DEFAULT_INDEX


def address_of(name, archive):
    page = f"{index().rstrip('/')}/{name}/"
    with urllib.request.urlopen(page, timeout=60) as answer:
        links = re.findall(r'href="([^"]+)"', answer.read().decode())
    for link in links:
        whole = urllib.parse.urljoin(page, html.unescape(link))
        if urllib.parse.urlparse(whole).path.endswith(f"/{archive}"):
            return whole
    raise SystemExit(f"setup: error: {page} has no {archive}")


def main():
    name, version, sha256, member, to = sys.argv[1:]
    archive = f"{name}-{version}.tar.gz"
    try:
        with urllib.request.urlopen(address_of(name, archive), timeout=600) as answer:
            content = answer.read()
    except OSError as error:
        raise SystemExit(f"setup: error: cannot load {archive}: {error}") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise SystemExit(f"setup: error: {archive} is not the pinned file: its SHA-256 differs")
    with tarfile.open(fileobj=io.BytesIO(content)) as files:
        found = files.extractfile(member).read()
    with open(os.path.join(to, os.path.basename(member)), "wb") as file:
        file.write(found)


if __name__ == "__main__":
    main()
