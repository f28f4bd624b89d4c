"""A file server on loopback that answers byte ranges and counts what it was asked for."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class FileServer:
    """`url` serves `folder`; `requests` holds (method, path, start, length) of each answer with a body."""

    folder: Path
    url: str = ""
    requests: list[tuple[str, str, int, int]] = field(default_factory=list)

    @property
    def bytes_sent(self) -> int:
        return sum(length for *_, length in self.requests)


@contextlib.contextmanager
def serve(folder: Path):
    server = FileServer(folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def do_HEAD(self):
            self.answer(body=False)

        def do_GET(self):
            self.answer(body=True)

        def answer(self, *, body):
            path = folder / unquote(self.path.partition("?")[0]).lstrip("/")
            if not path.is_file():
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            content = path.read_bytes()
            start, end, status = 0, len(content), 200
            if "Range" in self.headers:
                first, last = self.headers["Range"].removeprefix("bytes=").split("-")
                start, end = int(first), min(int(last) + 1 if last else len(content), len(content))
                status = 206 if start < len(content) else 416
            part = content[start:end] if status != 416 else b""
            self.send_response(status)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(len(part)))
            self.send_header("Last-Modified", "Mon, 30 Nov 2026 12:00:00 GMT")
            if status == 206:
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
            self.end_headers()
            if body:
                server.requests.append((self.command, self.path, start, len(part)))
                self.wfile.write(part)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
