"""Reads the sheets of a workbook (.xlsx) with nothing but the standard library."""

import re
import zipfile
from xml.etree import ElementTree

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def shared_texts(book):
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    items = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
    return ["".join(text.text or "" for text in item.iter(f"{MAIN}t")) for item in items]


def place_of(reference):
    """(row, column) from 0 on of a name like AB12."""
    letters, digits = re.fullmatch(r"([A-Z]+)(\d+)", reference).groups()
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(digits) - 1, column - 1


def value_of(cell, texts):
    value = cell.find(f"{MAIN}v")
    if cell.get("t") == "s":
        return texts[int(value.text)]
    if cell.get("t") == "inlineStr":
        return "".join(part.text or "" for part in cell.iter(f"{MAIN}t"))
    return "" if value is None else float(value.text)


def sheets_of(path):
    """Name -> rows of cells: numbers, texts, "" where there is nothing."""
    sheets = {}
    with zipfile.ZipFile(path) as book:
        texts = shared_texts(book)
        listed = ElementTree.fromstring(book.read("xl/workbook.xml")).iter(f"{MAIN}sheet")
        for number, sheet in enumerate(listed, start=1):
            cells = {}
            for cell in ElementTree.fromstring(book.read(f"xl/worksheets/sheet{number}.xml")).iter(
                f"{MAIN}c"
            ):
                cells[place_of(cell.get("r"))] = value_of(cell, texts)
            height = 1 + max(row for row, _ in cells)
            width = 1 + max(column for _, column in cells)
            sheets[sheet.get("name")] = [
                [cells.get((row, column), "") for column in range(width)] for row in range(height)
            ]
    return sheets
