"""A web server of this process that holds objects in memory and misbehaves as a test
asks: slow, cut, changing, refusing.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Objects:
    """What the server holds and how it answers. asked: (method, path, range) of every
    request.
    """

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.asked: list[tuple[str, str, str | None]] = []
        self.ranges = True
        self.length = True
        self.redirects: dict[str, str] = {}
        """For a path, where its answers send."""
        self.packed: dict[str, bytes] = {}
        """For a path, what a GET answers with `Content-Encoding: gzip`."""
        self.status: dict[str, int] = {}
        self.cuts: dict[str, int] = {}
        """For a path, how many answers end after half of their bytes."""
        self.silent: set[str] = set()
        """Paths whose answers stop after half of their bytes, without an end."""
        self.slow: set[str] = set()
        """Paths whose answers come a byte each twentieth of a second."""
        self.changes: dict[str, bytes] = {}
        """For a path, its content from the second GET on."""
        self.released = threading.Event()
        self.address = ""


@contextmanager
def web_server() -> Iterator[Objects]:
    """Serves on loopback until the block ends."""
    held = Objects()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(held))
    server.daemon_threads = True
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    held.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield held
    finally:
        held.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(held: Objects) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

        def _answer(self, *, body: bool) -> None:
            path = self.path.partition("?")[0]
            held.asked.append((self.command, path, self.headers.get("Range")))
            if path in held.redirects:
                self._send(302, b"", {"Location": held.redirects[path]}, body)
            elif path in held.packed and body:
                self._send(
                    200,
                    held.packed[path],
                    {"Content-Encoding": "gzip", "Content-Type": "text/html"},
                    body,
                )
            elif path in held.status:
                self._send(held.status[path], b"no", {}, body)
            elif path.endswith("/") and any(
                one.startswith(path) for one in held.content
            ):
                self._send(
                    200, _links(held, path), {"Content-Type": "text/html"}, body, path
                )
            elif any(one.startswith(f"{path}/") for one in held.content):
                self._send(301, b"", {"Location": f"{path}/"}, body)
            elif path not in held.content:
                self._send(404, b"", {}, body)
            else:
                self._object(path, body)

        def _object(self, path: str, body: bool) -> None:
            content = held.content[path]
            headers = {
                "ETag": f'"{hash(content)}"',
                "Accept-Ranges": "bytes" if held.ranges else "none",
            }
            asked = re.match(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
            if asked and held.ranges:
                lo, hi = int(asked[1]), min(int(asked[2]) + 1, len(content))
                headers["Content-Range"] = f"bytes {lo}-{hi - 1}/{len(content)}"
                self._send(206, content[lo:hi], headers, body, path)
            else:
                self._send(200, content, headers, body, path)
            if body and path in held.changes:
                held.content[path] = held.changes.pop(path)

        def _send(
            self,
            status: int,
            content: bytes,
            headers: Mapping[str, str],
            body: bool,
            path: str = "",
        ) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if held.length:
                self.send_header("Content-Length", str(len(content)))
            else:
                self.send_header("Connection", "close")
                self.close_connection = True
            self.end_headers()
            if not body:
                return
            if held.cuts.get(path, 0):
                held.cuts[path] -= 1
                self.wfile.write(content[: len(content) // 2])
                self.close_connection = True
            elif path in held.silent:
                self.wfile.write(content[: len(content) // 2])
                self.wfile.flush()
                held.released.wait()
                self.close_connection = True
            elif path in held.slow:
                for one in content:
                    self.wfile.write(bytes([one]))
                    if held.released.wait(0.05):
                        break
            else:
                self.wfile.write(content)

    return Handler


def _links(held: Objects, folder: str) -> bytes:
    """A page with a link to each object and folder right below, as web servers make
    them.
    """
    names = sorted(
        {
            rest.partition("/")[0] + ("/" if "/" in rest else "")
            for one in held.content
            if one.startswith(folder) and (rest := one[len(folder) :])
        }
    )
    return "".join(
        f'<a href="{name}">{name}</a>\n' for name in ["../", *names]
    ).encode()
