"""Size budget in lines: header 250, source 500, function 50; beyond 400, 800, 80 it is refused."""

import ast
import re
import sys

import source_tree

SOFT = {"header": 250, "source": 500, "function": 50}
HARD = {"header": 400, "source": 800, "function": 80}

NOISE = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"([^(\s]*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)
NOT_A_FUNCTION = re.compile(
    r"^(namespace|class|struct|union|enum|extern|if|for|while|switch|else|do|try|catch|return)\b"
)


def without_noise(text):
    """The text with comments and literals blanked, newlines kept."""
    return NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def head_before(text, brace):
    """What stands before an opening brace, back to the end of the previous statement or block."""
    start = max(text.rfind(mark, 0, brace) for mark in ";{}")
    head = re.sub(r"^\s*#.*$", "", text[start + 1 : brace], flags=re.MULTILINE)
    return re.sub(r"^(\s*(public|private|protected):)+", "", head).strip()


def function_name(head):
    """The name in the head of a function definition; None when the block is something else."""
    if "(" not in head or NOT_A_FUNCTION.match(head):
        return None
    head = re.sub(r"^template\s*<.*?>\s*(?=\w)", "", head, flags=re.DOTALL)
    match = re.search(r"([\w:~]+|operator\S+)\s*\(", head)
    return match[1] if match else None


def cpp_functions(text):
    """(name, line, lines) of each outermost function of a C++ text."""
    text = without_noise(text)
    depth_of_function, depth, start, name = None, 0, 0, ""
    for match in re.finditer(r"[{}]", text):
        if match[0] == "{":
            if depth_of_function is None:
                name = function_name(head_before(text, match.start()))
                if name:
                    depth_of_function, start = depth, text.count("\n", 0, match.start())
            depth += 1
        else:
            depth -= 1
            if depth == depth_of_function:
                yield name, start + 1, text.count("\n", 0, match.start()) - start + 1
                depth_of_function = None


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def measures(path):
    """(kind, what, lines) of a file and its functions."""
    text = source_tree.read(path)
    yield "header" if path.suffix == ".h" else "source", str(path), text.count("\n")
    functions = python_functions if path.suffix == ".py" else cpp_functions
    for name, line, lines in functions(text):
        yield "function", f"{path}:{line}: {name}", lines


def main():
    refused = 0
    for path in source_tree.tracked_files(".h", ".cc", ".py"):
        for kind, what, lines in measures(path):
            if lines > HARD[kind]:
                refused += 1
                print(f"error: {what}: {lines} lines; a {kind} ends at {HARD[kind]}")
            elif lines > SOFT[kind]:
                print(f"note: {what}: {lines} lines; a {kind} should have at most {SOFT[kind]}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
