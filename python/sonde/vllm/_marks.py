"""What the processes of a server record besides operators: ranges, counters and flows.

Everything is in one domain. Requests and engine steps are recorded as flows, whose keys are
numbers: a record of 32 bytes each, and names that are few ("sonde.decode 1"), so that a
recording of any length needs no more memory. Texts and times of a request are argument sets, two a
request. The importer makes the tables ``request``, ``engine_step`` and ``request_step`` of it.

Threads: any. While nothing is recorded ``recorder()`` is None and nothing else is called.
"""

import hashlib
import time
from typing import Any, Optional, Union

from sonde import _native
from sonde.vllm import _http_headers

DOMAIN = "sonde.serving"

_STEP_BITS = 40
_keys: dict[str, int] = {}
_KEPT_KEYS = 10000
_LONGEST_NAME = 200  # characters
_TEXT_PART = 1500  # bytes; an argument set holds 2048
_SAMPLING = ("max_tokens", "temperature", "top_p", "top_k", "n", "seed")


def recorder() -> Optional[_native.Recorder]:
    """The recorder while markers are recorded, else None."""
    native = _native.loaded_recorder()
    if native is not None and native.features() & _native.FEATURE_MARKERS:
        return native
    return None


def request_key(name: str) -> int:
    """The number of a request: the same in every process."""
    key = _keys.get(name)
    if key is None:
        if len(_keys) >= _KEPT_KEYS:
            _keys.clear()
        digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()
        key = int.from_bytes(digest, "little") >> 1 or 1
        _keys[name] = key
    return key


def shown_name(name: str) -> str:
    """Its id as it is recorded: a client may choose it (``x-request-id``), as long as it likes, and
    what does not fit into an argument set would be lost."""
    return _http_headers.shortened(name, _LONGEST_NAME)


def age_ns(request: Any) -> int:
    """Nanoseconds since vLLM took a request in, by its own time of day; 0 where it
    has none. Ages are recorded instead of such times: they count back from a moment on the
    recorder's clock."""
    arrival = getattr(request, "arrival_time", None)
    return max(0, time.time_ns() - int(arrival * 1e9)) if arrival else 0


def settings_of(request: Any) -> dict[str, Any]:
    """How the request's tokens are chosen, and by which adapter."""
    sampling = getattr(request, "sampling_params", None)
    values = {name: getattr(sampling, name, None) for name in _SAMPLING}
    values["lora"] = getattr(getattr(request, "lora_request", None), "lora_name", None)
    return {name: value for name, value in values.items() if value is not None}


def step_key(engine: int, number: int) -> int:
    """The number of an engine step in all processes of the server."""
    return ((engine + 1) << _STEP_BITS) | number


def step_number(key: int) -> int:
    """The number in the key of a step."""
    return key & ((1 << _STEP_BITS) - 1)


def has_output_counts(output: Any) -> bool:
    """Whether a scheduler's output lists which requests have an output already (since 0.11.1)."""
    return hasattr(output.scheduled_cached_reqs, "num_output_tokens")


def computed_tokens(output: Any) -> "dict[str, int]":
    """The tokens that requests of a batch have computed before it, of those that are not new."""
    cached = output.scheduled_cached_reqs
    if isinstance(cached, list):  # before 0.10: an object each
        return {request.req_id: request.num_computed_tokens for request in cached}
    return dict(zip(cached.req_ids, cached.num_computed_tokens))


def phases(output: Any) -> dict[str, tuple[str, int]]:
    """The batch of a scheduler's output: phase and tokens by request. A request is in its prefill
    while it has no output, as vLLM counts in the annotations of its traces."""
    if has_output_counts(output):
        cached = output.scheduled_cached_reqs
        decodes = {name for name, count in zip(cached.req_ids, cached.num_output_tokens) if count}
    else:
        decodes = set(getattr(output, "sonde_decodes", ()))
    return {
        name: ("decode" if name in decodes else "prefill", tokens)
        for name, tokens in output.num_scheduled_tokens.items()
    }


class Range:
    """A range on the calling thread, with what belongs to it."""

    def __init__(self, native: _native.Recorder, name: str) -> None:
        self._native = native
        native.range_push(native.intern(name), native.domain(DOMAIN))

    def __enter__(self) -> "Range":
        return self

    def __exit__(self, *_: object) -> None:
        self._native.range_pop()

    def arrives(self, what: str, key: int) -> None:
        """The range has to do with this request or step."""
        self._native.fast.sonde_flow_in(self._native.intern("sonde." + what), key)

    def leaves(self, what: str, key: int) -> None:
        """Others will refer to this range."""
        self._native.fast.sonde_flow_out(self._native.intern("sonde." + what), key)


def start(native: _native.Recorder, name: str) -> int:
    """Begins a range that may end anywhere; its number."""
    return native.fast.sonde_range_start(native.intern(name), native.domain(DOMAIN), 0)


def end(native: _native.Recorder, number: int) -> None:
    """Ends a range of ``start``."""
    native.fast.sonde_range_end(number)


def count(native: _native.Recorder, name: str, value: Union[int, float]) -> None:
    """The value of a counter from now on."""
    native.fast.sonde_counter(native.intern(name), native.domain(DOMAIN), value)


def texts(native: _native.Recorder, what: str, request: str, text: Optional[str]) -> None:
    """A text of a request, in as many moments as it needs."""
    data = (text or "").encode("utf-8", "replace")
    for part, begin in enumerate(range(0, len(data), _TEXT_PART)):
        piece = data[begin : begin + _TEXT_PART].decode("utf-8", "replace")
        facts = {"request": shown_name(request), "part": part, what: piece}
        mark(native, f"request {what}", facts)


def mark(native: _native.Recorder, name: str, facts: dict[str, Any]) -> None:
    """This moment, with facts."""
    session = native.features_word()
    args = native.args(facts, once=True)
    if native.features_word() == session:  # else the numbers are of another one
        native.fast.sonde_mark(native.intern(name), native.domain(DOMAIN), args)
