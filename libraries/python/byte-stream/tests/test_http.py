import errno
import hashlib
import pathlib
import pickle
import re

import byte_stream
import pytest
from byte_stream import _errors

from conftest import BODY


def test_a_url_is_read_and_copied(url, tmp_path):
    assert byte_stream.read_all(url + "/") == BODY
    with byte_stream.open(url + "/", sha256=hashlib.sha256(BODY).digest()) as stream:
        assert stream.status == 200 and stream.headers["x-colour"] == "blue"
        assert b"".join(map(bytes, stream)) == BODY
    assert byte_stream.copy(url + "/", tmp_path / "copy") == len(BODY)
    assert (tmp_path / "copy").read_bytes() == BODY


def test_headers_are_sent(url):
    assert byte_stream.read_all(url + "/echo", headers={"X-Word": "hello"}) == b"hello"


def test_a_body_that_only_the_connection_ends_is_accepted_on_request(url):
    with pytest.raises(byte_stream.StreamError) as raised:
        byte_stream.open(url + "/unframed")
    assert raised.value.kind == "Unframed"
    assert byte_stream.read_all(url + "/unframed", accept_unframed=True) == b"hello"
    digest = hashlib.sha256(b"hello").digest()
    assert byte_stream.read_all(url + "/unframed", sha256=digest) == b"hello"


def test_a_status_is_an_error(url):
    with pytest.raises(byte_stream.StreamError) as raised:
        byte_stream.open(url + "/missing")
    error = raised.value
    assert (error.kind, error.status, error.filename) == ("Status", 404, url + "/missing")
    assert str(error) == f"{url}/missing: the server answered 404 (not found)"
    assert error.errno is None


@pytest.mark.parametrize("path", ["/truncated", "/reset"])
def test_half_a_body_is_an_error_with_its_place(url, path):
    seen = 0
    # A reset may be there before the head is read.
    with pytest.raises(OSError) as raised, byte_stream.open(url + path) as stream:
        for chunk in stream:
            seen += len(chunk)
    assert raised.value.retryable
    assert raised.value.filename == url + path
    assert (raised.value.offset or 0) == seen <= len(BODY) // 2


def test_a_silent_server_is_a_timeout(url):
    with pytest.raises(TimeoutError) as raised:
        byte_stream.open(url + "/silent", idle_limit=0.05)
    assert raised.value.kind == "TimedOut" and raised.value.retryable
    assert isinstance(raised.value, byte_stream.StreamError)
    assert str(raised.value) == f"{url}/silent: the server did not answer within the time limit"
    assert raised.value.filename == url + "/silent"


def test_no_server_is_a_refused_connection():
    with pytest.raises(ConnectionRefusedError) as raised:
        byte_stream.open("http://me:secret@127.0.0.1:1/")
    error = raised.value
    assert (error.errno, error.filename) == (errno.ECONNREFUSED, "http://127.0.0.1:1/")
    assert error.strerror == "connecting to 127.0.0.1:1: Connection refused"


@pytest.mark.parametrize("base", [OSError, TimeoutError, ConnectionError])
def test_an_error_without_a_number_is_its_text_and_has_a_name(base):
    classes = [_errors.StreamError, _errors.StreamTimeoutError, _errors.StreamConnectionError]
    (made, *_) = [made for made in classes if issubclass(made, base)]
    error = made("http://host/: what happened")
    error.filename = "http://host/"
    assert str(error) == "http://host/: what happened" and error.errno is None
    assert isinstance(error, byte_stream.StreamError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.filename) == (str(error), error.filename)


def test_the_example_of_the_readme_runs(url, tmp_path):
    readme = pathlib.Path(__file__).parent.parent / "README.md"
    (example,) = re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)
    example = example.replace("https://example.org", url).replace("/tmp", str(tmp_path))
    exec(example, {})
