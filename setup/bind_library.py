"""Bind a shared library's references to its own symbols in the file, as a linker does with
-Bsymbolic: they are looked up by name at every start otherwise.

    python3 bind_library.py LIBRARY OUTPUT

DuckDB's library has 62 000 such references, which took 15 ms of each run of a command. Meant for a
library that is opened with RTLD_DEEPBIND: its own symbols come first then anyway, so that nothing
but time changes. What it does for ELF files of x86-64 (System V ABI, AMD64 supplement, 4.4.1):

* R_X86_64_64 and R_X86_64_GLOB_DAT of a symbol that the library defines become R_X86_64_RELATIVE,
* the slot of such an R_X86_64_JUMP_SLOT, which the loader moves by the load address when it binds
  lazily, holds the function instead of the code that would look it up,
* relative relocations come first, and DT_RELACOUNT is their number.

Left as they are: symbols of other libraries, those that have to be unique in a process
(STB_GNU_UNIQUE), of threads, and those that a function chooses (STT_GNU_IFUNC). A library of
another kind is copied. Exit status 1 and one line where the file is none or is damaged.
"""

import struct
import sys

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SEGMENT = struct.Struct("<IIQQQQQQ")
DYNAMIC = struct.Struct("<qQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")

X86_64 = 62
LOAD, DYNAMIC_SEGMENT = 1, 2
DT_PLTRELSZ, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_JMPREL = 2, 6, 7, 8, 23
DT_RELACOUNT = 0x6FFFFFF9
R_64, R_GLOB_DAT, R_JUMP_SLOT, R_RELATIVE = 1, 6, 7, 8
STB_GLOBAL, STB_WEAK = 1, 2
STT_NOTYPE, STT_OBJECT, STT_FUNC = 0, 1, 2
UNDEFINED, RESERVED = 0, 0xFF00  # indices of sections; absolute symbols are among the reserved


class Library:
    """The bytes of an ELF file of 64 bits, with its dynamic section."""

    def __init__(self, data):
        self.data = bytearray(data)
        header = HEADER.unpack_from(self.data)
        if header[0][:6] != b"\x7fELF\x02\x01":
            raise ValueError("no ELF file of 64 bits, little-endian")
        self.machine = header[2]
        offset, size, count = header[5], header[9], header[10]
        segments = [SEGMENT.unpack_from(self.data, offset + i * size) for i in range(count)]
        self.loads = [(s[3], s[3] + s[5], s[2]) for s in segments if s[0] == LOAD]
        dynamic = next((s for s in segments if s[0] == DYNAMIC_SEGMENT), None)
        if dynamic is None:
            raise ValueError("no shared library")
        self.dynamic = range(dynamic[2], dynamic[2] + dynamic[5], DYNAMIC.size)
        self.tags = {}
        for place in self.dynamic:
            tag, value = DYNAMIC.unpack_from(self.data, place)
            self.tags.setdefault(tag, value)

    def offset(self, address):
        """Where in the file the content of an address lies."""
        for begin, end, offset in self.loads:
            if begin <= address < end:
                return offset + address - begin
        raise ValueError(f"address {address:#x} is not in the file")

    def own_address(self, symbol):
        """The address of the symbol of that number in this library, or None: see above."""
        place = self.offset(self.tags[DT_SYMTAB]) + symbol * SYMBOL.size
        _, info, _, section, value, _ = SYMBOL.unpack_from(self.data, place)
        if section == UNDEFINED or section >= RESERVED:
            return None
        if info >> 4 not in (STB_GLOBAL, STB_WEAK):
            return None
        if info & 15 not in (STT_NOTYPE, STT_OBJECT, STT_FUNC):
            return None
        return value

    def relocations(self, table, size):
        if table not in self.tags:
            return []
        begin = self.offset(self.tags[table])
        return [
            RELOCATION.unpack_from(self.data, begin + i)
            for i in range(0, self.tags[size], RELOCATION.size)
        ]


def bind_data(library):
    """R_64 and R_GLOB_DAT; returns how many were bound."""
    bound = 0
    entries = []
    for where, info, addend in library.relocations(DT_RELA, DT_RELASZ):
        kind, symbol = info & 0xFFFFFFFF, info >> 32
        own = library.own_address(symbol) if kind in (R_64, R_GLOB_DAT) else None
        if own is None:
            entries.append((where, info, addend))
            continue
        entries.append((where, R_RELATIVE, own + (addend if kind == R_64 else 0)))
        bound += 1
    # The others keep their order: a linker puts those of one symbol together, and it is then looked
    # up once.
    relative = sorted(entry for entry in entries if entry[1] == R_RELATIVE)
    entries = relative + [entry for entry in entries if entry[1] != R_RELATIVE]
    begin = library.offset(library.tags[DT_RELA]) if entries else 0
    for i, entry in enumerate(entries):
        RELOCATION.pack_into(library.data, begin + i * RELOCATION.size, *entry)
    for place in library.dynamic:
        if DYNAMIC.unpack_from(library.data, place)[0] == DT_RELACOUNT:
            DYNAMIC.pack_into(library.data, place, DT_RELACOUNT, len(relative))
    return bound


def bind_calls(library):
    """R_JUMP_SLOT; returns how many were bound."""
    bound = 0
    for where, info, _ in library.relocations(DT_JMPREL, DT_PLTRELSZ):
        own = library.own_address(info >> 32) if info & 0xFFFFFFFF == R_JUMP_SLOT else None
        if own is not None:
            struct.pack_into("<Q", library.data, library.offset(where), own)
            bound += 1
    return bound


def bind(data):
    """(bytes of the bound library, references bound); ValueError or struct.error where `data` is no
    shared library, or damaged."""
    library = Library(data)
    if library.machine != X86_64:
        return bytes(data), 0
    bound = bind_data(library) + bind_calls(library)
    return bytes(library.data), bound


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, output = sys.argv[1:]
    try:
        with open(source, "rb") as file:
            data, bound = bind(file.read())
        with open(output, "wb") as file:
            file.write(data)
    except (OSError, ValueError, KeyError, struct.error) as error:
        sys.exit(f"cannot bind the symbols of {source}: {error}")
    print(f"{bound} references bound")


if __name__ == "__main__":
    main()
