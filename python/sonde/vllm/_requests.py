"""Which engine steps of a server are dumped: those of chosen requests.

An order is an object of the configuration (``"requests"``) or of the body of ``POST /dump``:

    {"ids": ["cmpl-7c"]}          requests whose id contains one of these texts
    {"prompt": [785, 4285]}       requests whose prompt begins with these tokens
    {"next": 2}                   the next requests to be scheduled; the default of an empty object
    {"tokens": 5, ...}            of each chosen request only the steps of its first tokens

Threads: ``order()`` from any thread, the rest from the worker's.
"""

import dataclasses
from typing import Any, Optional

from sonde.vllm import _marks

_KEYS = ("ids", "prompt", "next", "tokens", "from_step")


@dataclasses.dataclass
class Order:
    """What one request for a dump asks for, and how many requests it still waits for."""

    ids: "list[str]" = dataclasses.field(default_factory=list)
    prompt: "list[int]" = dataclasses.field(default_factory=list)
    next: int = 0
    tokens: Optional[int] = None
    from_step: int = 0  # the engine step from which it counts

    @property
    def is_spent(self) -> bool:
        """Whether no further request can be chosen."""
        return not (self.ids or self.prompt or self.next)


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def read_order(content: Any) -> Order:
    """Raises ``ValueError`` with one line for people."""
    if not isinstance(content, dict):
        raise ValueError("an order of a dump must be an object")
    for key in content:
        if key not in _KEYS:
            raise ValueError(f"{key} is not known; known are {', '.join(_KEYS[:-1])}")
    ids = content.get("ids", [])
    if not isinstance(ids, list) or not all(isinstance(item, str) and item for item in ids):
        raise ValueError("ids must be a list of texts")
    if not _numbers(content.get("prompt", [])):
        raise ValueError("prompt must be a list of token numbers")
    order = Order(ids=list(ids), prompt=list(content.get("prompt", [])))
    for key in ("next", "tokens", "from_step"):
        value = content.get(key)
        if value is None:
            continue
        if type(value) is not int or value < (0 if key == "from_step" else 1):
            raise ValueError(f"{key} must be a number of at least 1")
        setattr(order, key, value)
    if order.is_spent:
        order.next = 1
    return order


class Selection:
    """The orders of one worker. Every engine step that computes tokens is shown to ``wants()``."""

    def __init__(self) -> None:
        self.steps = 0  # engine steps so far
        self.chosen = 0  # requests so far
        self._orders: list[Order] = []
        self._limits: dict[str, Optional[int]] = {}  # chosen requests that run -> tokens
        self._known: set[str] = set()

    def order(self, order: Order) -> None:
        """Adds an order; it counts from the next step on."""
        self._orders.append(order)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is dumped until another order comes."""
        return not self._orders and not self._limits

    @property
    def is_running(self) -> bool:
        """Whether requests are under way, so that ranks may be a step apart."""
        return bool(self._known)

    def forget(self, finished: Any) -> None:
        """These requests have ended."""
        for request in finished or ():
            self._known.discard(request)
            self._limits.pop(request, None)

    def wants(self, scheduled: Any) -> bool:
        """Whether the step of this scheduler output is dumped."""
        self.forget(getattr(scheduled, "finished_req_ids", None))
        self.steps += 1
        new = {request.req_id: request for request in scheduled.scheduled_new_reqs}
        for request in scheduled.num_scheduled_tokens:
            if request not in self._limits:
                self._choose(request, new.get(request))
        self._known.update(scheduled.num_scheduled_tokens)
        self._orders = [order for order in self._orders if not order.is_spent]
        if not self._limits:
            return False
        computed = {name: request.num_computed_tokens for name, request in new.items()}
        computed.update(_marks.computed_tokens(scheduled))
        return any(
            request in self._limits and self._is_within(self._limits[request], computed, request)
            for request in scheduled.num_scheduled_tokens
        )

    @staticmethod
    def _is_within(limit: Optional[int], computed: "dict[str, int]", request: str) -> bool:
        return limit is None or computed.get(request, 0) < limit

    def _choose(self, request: str, data: Any) -> None:
        is_fresh = data is not None and request not in self._known
        for order in self._orders:
            if self.steps < order.from_step:
                continue
            by_id = any(text in request for text in order.ids)
            prompt = getattr(data, "prompt_token_ids", None) if is_fresh else None
            begin = list(prompt[: len(order.prompt)]) if prompt else None
            by_prompt = bool(order.prompt) and begin == order.prompt
            by_turn = is_fresh and order.next > 0
            if not (by_id or by_prompt or by_turn):
                continue
            if by_turn:
                order.next -= 1
            self._limits[request] = order.tokens
            self.chosen += 1
            return
