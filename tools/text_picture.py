"""Draws terminal output as an SVG picture for the documents.

sonde analyse demo | tools/text_picture.py 'sonde analyse demo' > docs/images/analyse.svg
"""

import sys
from html import escape

FONT_WIDTH, LINE_HEIGHT, MARGIN = 7.8, 18, 18
COLOURS = {"command": "#7fd1ae", "heading": "#e6c07b", "text": "#d6dbe4"}


def kind_of(line):
    """A line that begins at the left edge is a heading, an indented one a row."""
    return "text" if line.startswith(" ") else "heading"


def picture(command, text):
    """SVG of ``command`` and the lines that it printed."""
    lines = [("command", f"$ {command}")]
    lines += [(kind_of(line), line) for line in text.rstrip().splitlines()]
    width = round(2 * MARGIN + FONT_WIDTH * max(len(line) for _, line in lines))
    height = 2 * MARGIN + LINE_HEIGHT * len(lines)
    rows = "\n".join(
        f'<text x="{MARGIN}" y="{MARGIN + LINE_HEIGHT * i + 13}" fill="{COLOURS[kind]}" '
        f'xml:space="preserve">{escape(line)}</text>'
        for i, (kind, line) in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13">\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#1d2129"/>\n{rows}\n</svg>\n'
    )


if __name__ == "__main__":
    sys.stdout.write(picture(sys.argv[1], sys.stdin.read()))
