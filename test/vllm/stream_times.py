"""An ASGI middleware for vLLM's own `--middleware`: when each request came and each piece of its
stream left, as lines of JSON in the file STREAM_TIMES. Knows nothing of Sonde."""

import json
import os
import time


class StreamTimes:
    def __init__(self, app):
        self._app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope.get("path") != "/v1/completions":
            await self._app(scope, receive, send)
            return
        begin, sent = time.time_ns(), []

        async def timed_send(message):
            await send(message)
            body = message.get("body", b"")
            if body.startswith(b"data: {"):
                sent.extend([time.time_ns()] if b'"choices":[{' in body else [])

        await self._app(scope, receive, timed_send)
        with open(os.environ["STREAM_TIMES"], "a") as file:
            file.write(json.dumps({"begin": begin, "sent": sent}) + "\n")
