"""A small web server on this machine for tests of downloads, with the faults that real ones have."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Resource:
    body: bytes
    content_type: str = "application/octet-stream"
    ranges: bool = False  # answers requests for a part
    etag: str | None = None
    failures: list[int] = field(default_factory=list)  # statuses of the first answers
    cut_after: list[int] = field(default_factory=list)  # the first answers break off after so many bytes
    redirect: str | None = None


@dataclass
class Server:
    url: str
    resources: dict[str, Resource]
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # path, headers

    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]


@contextlib.contextmanager
def serve(resources: dict[str, Resource]) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def do_GET(self) -> None:
            server.requests.append((self.path, dict(self.headers)))
            resource = resources.get(self.path)
            if resource is None:
                self.send_error(404)
                return
            if resource.failures:
                self.send_error(resource.failures.pop(0))
                return
            if resource.redirect:
                self.send_response(302)
                self.send_header("Location", resource.redirect)
                self.end_headers()
                return
            self._send(resource)

        def _send(self, resource: Resource) -> None:
            begin = 0
            asked = self.headers.get("Range")
            if asked and resource.ranges and self.headers.get("If-Range", resource.etag) == resource.etag:
                begin = int(asked.removeprefix("bytes=").removesuffix("-"))
                if begin >= len(resource.body):
                    self.send_error(416)
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {begin}-{len(resource.body) - 1}/{len(resource.body)}")
            else:
                self.send_response(200)
            body = resource.body[begin:]
            self.send_header("Content-Type", resource.content_type)
            self.send_header("Content-Length", str(len(body)))
            if resource.etag:
                self.send_header("ETag", resource.etag)
            self.end_headers()
            self.wfile.write(body[: resource.cut_after.pop(0)] if resource.cut_after else body)

        log_message: Callable[..., None] = lambda *_: None

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = Server(f"http://127.0.0.1:{httpd.server_port}", resources)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
