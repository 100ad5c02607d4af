"""Checks the instructions of the recording fast path.

    check_fast_path.py OBJECT_FILE

No atomic read-modify-write, no fence, no system call in any probe function; calls and jumps out
of it only into the four slow paths; and few instructions. Prints each function's size; exit
status 1 where something is wrong, with a message.
"""

import re
import subprocess
import sys

SLOW_PATHS = {
    "sonde_ring_acquire_",
    "sonde_ring_room_",
    "sonde_ticks_slow_",
    "sonde_pop_misplaced_",
}
FORBIDDEN = re.compile(r"^(lock\b|xchg|xadd|cmpxchg|mfence|lfence|sfence|syscall|cpuid|rdtscp)")
PADDING = re.compile(r"(cs |data16 )*nop|xchg +%ax,%ax|data16")
MOST_INSTRUCTIONS = {
    "probe_push": 100,
    "probe_pop": 130,
    "probe_complete": 110,
    "probe_memory": 140,
}


def read_functions(path):
    """Function name to its instructions, each (text, target of a call or "")."""
    listing = subprocess.run(
        ["objdump", "-dr", "--no-show-raw-insn", path],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    functions, current = {}, None
    for line in listing.splitlines():
        # The compiler may split a function: f, f.part.0, f.cold.
        if head := re.match(r"[0-9a-f]+ <(\w+)[\w.]*>:", line):
            current = functions.setdefault(head[1], [])
        elif current is not None and (code := re.match(r"\s+[0-9a-f]+:\t(.+)", line)):
            current.append([code[1].strip(), ""])
        elif current and (relocation := re.search(r"R_X86_64_\w+\s+(\w+)", line)):
            if current[-1][0].startswith(("call", "jmp")):
                current[-1][1] = relocation[1]
    return functions


def check(functions):
    """Yields the errors."""
    for name, most in MOST_INSTRUCTIONS.items():
        instructions = functions.get(name)
        if not instructions:
            yield f"{name} is missing"
            continue
        code = [item for item in instructions if not PADDING.match(item[0])]
        print(f"{name}: {len(code)} instructions, slow paths included")
        if len(code) > most:
            yield f"{name} has {len(code)} instructions, more than {most}"
        for text, target in code:
            if FORBIDDEN.match(text):
                yield f"{name}: {text}"
            leaves = text.startswith("call") or target not in ("", name)
            if leaves and target not in SLOW_PATHS:
                yield f"{name} calls {target or text}"


def main():
    problems = list(check(read_functions(sys.argv[1])))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
