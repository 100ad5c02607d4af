"""Checksums of tensors in the memory of a device, worked out there.

CRC-32 is linear over bits: but for a constant of the length, the checksum of a message is the sum,
modulo 2, of what each of its bits gives alone, and zeros in front of it change nothing. So rows of
256 bytes are multiplied, as bits, with the 32 bits that each of their places gives; 64 results in a
row, moved by the bytes behind them, with those of the next level, until one is left. At most 2048
ones are added up, which float16 counts exactly, in whatever order a device adds.

CRC-32 as ``probe/checksum.h`` has it; how registers are moved over zeros is zlib's
``crc32_combine``.
"""

import functools
import zlib
from typing import Any, Callable, Optional

ROW_BYTES = 256
_STATES = 64  # of 32 bits, that are as many bits as a row
_PART_BYTES = 8 << 20  # taken at once, since bits take 16 times as much
# Smaller tensors are copied to the host sooner than so many kernels are started.
SMALLEST_BYTES = 2 << 20


class Checksum:
    """One that will be there: ``word``, a tensor of one number, and the text for that number."""

    def __init__(self, word: Any, text: "Callable[[int], str]") -> None:
        self.word = word
        self.text = text


def of(torch: Any, tensor: Any, summary: str) -> Optional[Checksum]:
    """The one that the summary mode ``md5`` or ``xor`` asks for. None where the host is to work it
    out, which has rules of its own for tensors without elements and numbers alone. Raises
    ``RuntimeError`` where the device has no kernels, or no memory."""
    if tensor.numel() * tensor.element_size() < SMALLEST_BYTES or tensor.dim() == 0:
        return None
    if summary == "xor":
        return xor_words(torch, tensor)
    return crc32(torch, tensor) if _counts(torch, tensor.device) else None


def xor_words(torch: Any, tensor: Any) -> Checksum:
    """All bytes of a strided tensor, in row-major order, as 64-bit words, combined by exclusive or;
    the last one is filled with zeros. No synchronization. Raises ``RuntimeError`` where the device
    has no kernels."""
    flat = _bytes(torch, tensor)
    if flat.storage_offset() % 8 and flat.numel() % 8 == 0:
        flat = flat.clone()  # words begin at words
    words = _padded(torch, flat, 8, in_front=False).view(torch.int64)
    while words.numel() > 1:
        half = words.numel() // 2
        rest = words[2 * half :]
        words = words[:half].bitwise_xor(words[half : 2 * half])
        if rest.numel():
            words[:1].bitwise_xor_(rest)
    return Checksum(words[0], lambda word: f"0x{word & 0xFFFFFFFFFFFFFFFF:016x}")


def crc32(torch: Any, tensor: Any) -> Checksum:
    """CRC-32 over the elements of a strided tensor, in row-major order. No synchronization. Raises
    ``RuntimeError`` where the device has no kernels, or no memory."""
    flat = _bytes(torch, tensor)
    # Autocast would make bfloat16 of it, which cannot count so far.
    with torch.autocast(tensor.device.type, enabled=False):
        states = torch.cat([_row_states(torch, part) for part in _parts(flat)])
        bytes_each = ROW_BYTES
        while states.shape[0] > 1:
            states = _padded(torch, states, _STATES, in_front=True)
            places = _matrix(torch, states.device, bytes_each)
            states = states.view(-1, _STATES * 32).mm(places).fmod_(2)
            bytes_each *= _STATES
    # Of integers, since float16 ends before 2^32.
    bits = states[0].to(torch.int64)
    word = (bits * _powers(torch, states.device)).sum()
    of_zeros = _advanced(0xFFFFFFFF, flat.numel()) ^ 0xFFFFFFFF
    return Checksum(word, lambda raw: f"{raw ^ of_zeros:08x}")


@functools.lru_cache(maxsize=64)
def _counts(torch: Any, device: Any) -> bool:
    """Whether products of float16 are exact on the device, seen where every bit is set: a checksum
    that is wrong would look like a difference of the runs. Synchronizes, once."""
    size = 4 * _STATES * ROW_BYTES
    found = crc32(torch, torch.full((size,), 255, dtype=torch.uint8, device=device))
    return found.text(int(found.word)) == f"{zlib.crc32(bytes([255]) * size):08x}"


def _bytes(torch: Any, tensor: Any) -> Any:
    return tensor.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)


def _padded(torch: Any, values: Any, multiple: int, in_front: bool) -> Any:
    missing = -values.shape[0] % multiple
    if missing == 0:
        return values
    zeros = values.new_zeros((missing, *values.shape[1:]))
    return torch.cat([zeros, values] if in_front else [values, zeros])


def _parts(flat: Any) -> "list[Any]":
    """What is no multiple of a row comes first, where zeros may be put in front of it."""
    total = flat.numel()
    first = (total - 1) % _PART_BYTES + 1
    starts = [0, *range(first, total, _PART_BYTES)]
    return [flat[begin:end] for begin, end in zip(starts, [*starts[1:], total])]


def _row_states(torch: Any, part: Any) -> Any:
    """The registers after each row, from 0, as bits: float16 of [rows, 32]."""
    rows = _padded(torch, part, ROW_BYTES, in_front=True).view(-1, ROW_BYTES, 1)
    bits = rows.bitwise_and(_masks(torch, part.device)).to(torch.float16)
    return bits.view(-1, ROW_BYTES * 8).mm(_row_matrix(torch, part.device)).fmod_(2)


@functools.lru_cache(maxsize=64)
def _masks(torch: Any, device: Any) -> Any:
    return torch.tensor([1 << bit for bit in range(8)], dtype=torch.uint8, device=device)


@functools.lru_cache(maxsize=64)
def _powers(torch: Any, device: Any) -> Any:
    return torch.tensor([1 << bit for bit in range(32)], dtype=torch.int64, device=device)


@functools.lru_cache(maxsize=64)
def _row_matrix(torch: Any, device: Any) -> Any:
    """What each bit of a row gives; masked bits weigh 1 << bit, which is taken back here."""
    rows = []
    for place in range(ROW_BYTES):
        behind = ROW_BYTES - 1 - place
        for bit in range(8):
            # zlib begins with ones and ends with their complement: the difference to zeros is left.
            alone = bytes([1 << bit]) + bytes(behind)
            raw = zlib.crc32(alone) ^ zlib.crc32(bytes(behind + 1))
            rows.append([(raw >> k & 1) / (1 << bit) for k in range(32)])
    return torch.tensor(rows, dtype=torch.float16, device=device)


@functools.lru_cache(maxsize=64)
def _matrix(torch: Any, device: Any, bytes_each: int) -> Any:
    """What each bit of 64 registers gives that are ``bytes_each`` apart, a power of two."""
    step = _doubled(bytes_each.bit_length() - 1)
    registers = list(_BITS)
    rows: list[list[int]] = []
    for _ in range(_STATES):  # from the last one, which has nothing behind it
        rows = [[register >> k & 1 for k in range(32)] for register in registers] + rows
        registers = [_times(step, register) for register in registers]
    return torch.tensor(rows, dtype=torch.float16, device=device)


@functools.lru_cache(maxsize=64)
def _doubled(power: int) -> "tuple[int, ...]":
    """What each bit of a register becomes over 2 to the ``power`` bytes of zeros."""
    if power == 0:
        return tuple(zlib.crc32(b"\0", bit ^ 0xFFFFFFFF) ^ 0xFFFFFFFF for bit in _BITS)
    before = _doubled(power - 1)
    return tuple(_times(before, _times(before, bit)) for bit in _BITS)


_BITS = [1 << bit for bit in range(32)]


def _times(matrix: "tuple[int, ...]", register: int) -> int:
    found = 0
    for bit, column in enumerate(matrix):
        if register >> bit & 1:
            found ^= column
    return found


@functools.lru_cache(maxsize=1 << 14)
def _advanced(register: int, size: int) -> int:
    """A register after ``size`` bytes of zeros."""
    for power in range(size.bit_length()):
        if size >> power & 1:
            register = _times(_doubled(power), register)
    return register
