"""Stands in for the command `sonde` where an adapter to an engine is tested: twelve parts, each of
which takes half a second. The file `fail` in the folder of parts makes the sixth impossible, the
file `greedy` lets it take memory."""

import json
import os
import sys
import time


def list_tasks(parts):
    missing = [number for number in range(12) if not os.path.exists(f"{parts}/{number}.parquet")]
    for number in missing:
        print(json.dumps({"words": ["cluster", "map", str(number), parts],
                          "sources": [f"/run/{number}"], "numbers": [f"{number}/0/{number}"],
                          "files": [__file__] if number == 0 else []}))  # fmt: skip
    if missing:
        sys.exit(3)
    print("the result")


def make_part(number, parts, folder):
    time.sleep(0.5)
    if number == "5" and os.path.exists(f"{parts}/fail"):
        sys.exit("sonde: error: it cannot be done")
    if number == "5" and os.path.exists(f"{parts}/greedy"):
        bytearray(1 << 30)
    os.mkdir(folder)
    with open(f"{folder}/{number}.parquet", "w") as file:
        file.write(number)
    with open(f"{folder}/.half.parquet", "w") as file:
        file.write("no part")


if "--list-tasks" in sys.argv:
    list_tasks(sys.argv[sys.argv.index("--parts") + 1])
else:
    make_part(sys.argv[3], sys.argv[4], sys.argv[-1])
