"""By what its client finds a request again: the headers ``traceparent`` (W3C Trace Context) and
``x-request-id``.

Whoever reaches the server writes them. A ``traceparent`` counts only where the standard takes it;
of an ``x-request-id`` the first characters are kept, and none that a terminal or a page would obey.
"""

import re
from typing import Any

TRACEPARENT = "traceparent"
REQUEST_ID = "x-request-id"
LONGEST = 128  # characters; they share an argument set with the request's other facts

_TRACEPARENT = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_FIRST_VERSION = b"00"
_NO_VERSION = b"ff"


def facts_of(scope: Any) -> dict[str, str]:
    """The two headers of an ASGI scope by name, where they are there and valid."""
    traceparents, request_ids = [], []
    for name, value in scope.get("headers") or ():
        lower = name.lower()
        if lower == b"traceparent":
            traceparents.append(value)
        elif lower == b"x-request-id":
            request_ids.append(value)
    facts = {}
    # With several the standard takes none.
    if len(traceparents) == 1 and (found := _traceparent(traceparents[0])):
        facts[TRACEPARENT] = found
    if request_ids and (found := shortened(_shown(request_ids[0]), LONGEST)):
        facts[REQUEST_ID] = found
    return facts


def traced(headers: Any) -> dict[str, str]:
    """The ``traceparent`` among those that a front-end passes on to its engine."""
    given = (headers or {}).get(TRACEPARENT, "")
    found = _traceparent(given.encode("ascii", "replace"))
    return {TRACEPARENT: found} if found else {}


def shortened(text: str, longest: int) -> str:
    """The text, or its first characters with an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _traceparent(value: bytes) -> str:
    """Version, trace, span and flags; "" for what the standard makes its readers ignore."""
    value = value.strip(b" \t")
    found = _TRACEPARENT.match(value)
    if found is None:
        return ""
    version, trace, span = found.groups()
    rest = value[found.end() :]
    is_known = not rest if version == _FIRST_VERSION else not rest or rest.startswith(b"-")
    has_ids = trace.strip(b"0") and span.strip(b"0")
    return found[0].decode() if is_known and version != _NO_VERSION and has_ids else ""


def _shown(value: bytes) -> str:
    """The beginning of a header as text; what is not printable is a replacement character."""
    text = value[: 8 * LONGEST].decode("utf-8", "replace").strip()
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
