"""Makes PNG files small: 256 colours, and no larger than the documents allow.

shrink_pictures.py FOLDER    every *.png in FOLDER; for the Python of `setup/python.sh docs`
"""

import sys
from pathlib import Path

from PIL import Image

LIMIT_BYTES = 150_000
LIMIT_ALL_BYTES = 4_000_000
COLOURS = 256


def shrink(path):
    """Rewrites a picture with a palette; returns its size in bytes."""
    with Image.open(path) as picture:
        if picture.mode != "P":
            picture = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
            picture.save(path, optimize=True)
    return path.stat().st_size


def main():
    sizes = {path: shrink(path) for path in sorted(Path(sys.argv[1]).glob("*.png"))}
    large = [f"{path}: {size} bytes" for path, size in sizes.items() if size > LIMIT_BYTES]
    if large or sum(sizes.values()) > LIMIT_ALL_BYTES:
        sys.exit("\n".join([*large, f"all: {sum(sizes.values())} bytes"]))
    print(f"{len(sizes)} pictures, {sum(sizes.values()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
