"""The clients of docs/guides/retry-safely.md retry with the same Idempotency-Key until a final response."""

import json
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.documents import blocks, page

CODE = {block.language: block.code for block in blocks(page("guides/retry-safely.md"))}
KEY = "01900000-0000-7000-8000-000000000001"
# The responses in order, as status and body. For None, the server closes the connection without a response.
RESPONSES = [None, (503, "{}"), (502, '{"code":"E5002"}'), (409, '{"code":"E3010"}'), (201, '{"id":1}')]

PYTHON_MAIN = """
import sys
response = send("POST", sys.argv[1], "ck_test", {"a": 1}, sys.argv[2])
print(response.status_code)
"""
NODE_MAIN = """
const response = await send("POST", process.argv[2], "ck_test", { a: 1 }, process.argv[3]);
console.log(response.status);
"""
GO_MAIN = """package main

import (
	"fmt"
	"os"
)

func main() {
	status, _, err := Send("POST", os.Args[1], "ck_test", []byte(`{"a":1}`), os.Args[2])
	if err != nil {
		panic(err)
	}
	fmt.Println(status)
}
"""
PROGRAMS = {
    "python": ({"main.py": CODE["python"] + PYTHON_MAIN}, None, [sys.executable, "main.py"]),
    "javascript": ({"main.mjs": CODE["javascript"] + NODE_MAIN}, None, ["node", "main.mjs"]),
    "go": ({"send.go": CODE["go"], "main.go": GO_MAIN}, ["go", "build", "-o", "main", "send.go", "main.go"],
           ["./main"]),
}  # fmt: skip


@pytest.fixture
def flaky():
    """The URL of a server that returns RESPONSES, and the list of its requests."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append((self.headers["Idempotency-Key"], self.headers["X-API-Key"], json.loads(body)))
            response = RESPONSES[len(requests) - 1]
            if response is None:
                self.close_connection = True
                return
            status, text = response
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_arguments):
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", requests
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("language", PROGRAMS)
def test_published_retry_client_repeats_its_key_until_the_final_response(language, flaky, tmp_path):
    files, build, run = PROGRAMS[language]
    if shutil.which((build or run)[0]) is None:
        pytest.skip(f"needs {(build or run)[0]}")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    if build:
        subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=True)
    address, requests = flaky
    done = subprocess.run([*run, address, KEY], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "201"), done.stderr
    assert requests == [(KEY, "ck_test", {"a": 1})] * len(RESPONSES)
