"""Puts load on a server of language models: requests of different lengths, several at a time.

python3 examples/gallery/load.py http://127.0.0.1:8000 --requests 16 --at-once 8

Uses nothing but Python's standard library.
"""

import argparse
import json
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

TEXT = "def main():\n    for line in open(name):\n        print(line)\n"


def ask(address, number):
    """Asks for a completion; returns the seconds that it took."""
    prompt = TEXT * (6 if number % 5 == 4 else 1)  # every fifth prompt is long
    body = {"prompt": prompt, "max_tokens": 12 + number % 3 * 8, "temperature": 0}
    request = urllib.request.Request(
        f"{address}/v1/completions",
        data=json.dumps({**body, "model": "tiny", "ignore_eos": True}).encode(),
        headers={"Content-Type": "application/json"},
    )
    begin = time.monotonic()
    with urllib.request.urlopen(request, timeout=300) as answer:
        answer.read()
    return time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address")
    parser.add_argument("--requests", type=int, default=16)
    parser.add_argument("--at-once", type=int, default=8)
    arguments = parser.parse_args()
    with ThreadPoolExecutor(arguments.at_once) as pool:
        numbers = range(arguments.requests)
        seconds = sorted(pool.map(lambda number: ask(arguments.address, number), numbers))
    print(f"{len(seconds)} requests, median {seconds[len(seconds) // 2]:.2f} s, "
          f"longest {seconds[-1]:.2f} s")  # fmt: skip


if __name__ == "__main__":
    main()
