import http.server
import socket
import struct
import threading

import pytest

BODY = bytes(range(256)) * 2000


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/missing":
            return self.send_error(404)
        if self.path == "/echo":
            return self.answer(self.headers["X-Word"].encode())
        if self.path == "/silent":
            self.server.stopping.wait()
            return None
        if self.path == "/":
            return self.answer(BODY)
        if self.path == "/unframed":
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\nhello")
            self.close_connection = True
            return None
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY[: len(BODY) // 2])
        self.close_connection = True
        if self.path == "/reset":
            self.wfile.flush()
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
        return None

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Colour", "blue")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

    def finish(self):
        try:
            super().finish()
        except OSError:
            pass  # it was reset


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that went away, or a connection that was reset


@pytest.fixture(scope="session")
def url():
    with Server(("127.0.0.1", 0), Handler) as server:
        server.stopping = threading.Event()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.stopping.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(BODY)
    return path
