"""A daemon of requests to record, as dynolog is one: written after its messages, for tests."""

import os
import socket
import struct
import threading

HEAD = struct.Struct("<Q32s")


class Daemon:
    """Listens on 'dynolog' in `folder`, or under that name without a file; gives each program that
    asks the next of `answers`, then nothing.

    `seen`: (type, content) of what came.
    """

    def __init__(self, folder=None, answers=()):
        self.answers = list(answers)
        self.seen = []
        self.changed = threading.Condition()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(folder / "dynolog") if folder else b"\0dynolog\0")
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            message, sender = self.socket.recvfrom(1 << 16)
            if not message:
                return
            length, kind = HEAD.unpack_from(message)
            kind, content = kind.split(b"\0")[0].decode(), message[HEAD.size :]
            assert len(content) == length
            answer = struct.pack("<i", 1)
            if kind == "req":
                answer = self.answers.pop(0).encode() if self.answers else b""
            self.socket.sendto(HEAD.pack(len(answer), kind.encode()) + answer, sender)
            with self.changed:
                self.seen.append((kind, content))
                self.changed.notify_all()

    def of(self, kind):
        """The contents of one type, as numbers: a context is (device, process, job), a request
        (kinds, how many, job, processes)."""
        form = "<iiq"
        found = [content for known, content in self.seen if known == kind]
        size = struct.calcsize(form)
        return [(*struct.unpack_from(form, content), *struct.unpack_from(
            f"<{(len(content) - size) // 4}i", content, size)) for content in found]  # fmt: skip

    def wait_for(self, kind, count=1, timeout=60):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.of(kind)) >= count, timeout)

    def close(self):
        if self.socket.fileno() < 0:
            return  # once is enough
        name = self.socket.getsockname()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.sendto(b"", name)
        self.thread.join()
        self.socket.close()
        if isinstance(name, str) and os.path.exists(name):
            os.unlink(name)
