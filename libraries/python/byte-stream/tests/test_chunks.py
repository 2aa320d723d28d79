import errno
import gc
import os
import pathlib
import threading

import byte_stream
import pytest

from conftest import BODY


def test_chunks_are_the_bytes_of_the_file(file):
    with byte_stream.open(file, buffer_bytes=1000) as stream:
        chunks = [bytes(chunk) for chunk in stream]
        assert list(stream) == []
    assert b"".join(chunks) == BODY
    assert {len(chunk) for chunk in chunks} == {1000}


def test_the_last_chunk_is_released_by_the_next_one(file):
    stream = byte_stream.open(file, buffer_bytes=1000)
    first = next(stream)
    assert first.readonly and first[0] == 0
    next(stream)
    with pytest.raises(ValueError, match="released"):
        first[0]


def test_a_slice_that_is_kept_stops_the_stream_and_keeps_its_bytes(file):
    stream = byte_stream.open(file, buffer_bytes=1000)
    part = next(stream)[:10]
    for use in (stream.__next__, stream.read_all, stream.close, lambda: stream.copy_to(1)):
        with pytest.raises(BufferError, match="still in use"):
            use()
    assert bytes(part) == BODY[:10]
    part.release()
    assert bytes(next(stream)) == BODY[1000:2000]


def test_an_array_that_is_kept_stops_the_stream(file):
    numpy = pytest.importorskip("numpy")
    stream = byte_stream.open(file, buffer_bytes=1000)
    array = numpy.frombuffer(next(stream), numpy.uint8)
    with pytest.raises(BufferError):
        next(stream)
    assert array.sum() == sum(BODY[:1000])
    assert not array.flags.writeable
    del array
    assert bytes(next(stream)) == BODY[1000:2000]


def test_a_chunk_keeps_the_stream_alive(file):
    chunk = next(byte_stream.open(file, buffer_bytes=1000))
    gc.collect()
    assert bytes(chunk) == BODY[:1000]


def test_a_closed_stream_has_no_chunks(file):
    with byte_stream.open(file) as stream:
        chunk = next(stream)
    with pytest.raises(ValueError, match="released"):
        chunk[0]
    with pytest.raises(ValueError, match="closed"):
        next(stream)
    with pytest.raises(BufferError):
        memoryview(stream)
    stream.close()


def test_there_is_nothing_to_look_at_before_the_first_chunk(file):
    stream = byte_stream.open(file)
    with pytest.raises(BufferError, match="no chunk"):
        memoryview(stream)
    chunk = next(stream)
    assert memoryview(stream) == chunk


def test_the_rest_is_read_or_copied(file, tmp_path):
    with byte_stream.open(file, buffer_bytes=1000) as stream:
        next(stream)
        assert stream.read_all() == BODY[1000:]
    with byte_stream.open(file, buffer_bytes=1000) as stream, open(tmp_path / "to", "wb") as to:
        next(stream)
        assert stream.copy_to(to.fileno()) == len(BODY) - 1000
    assert (tmp_path / "to").read_bytes() == BODY[1000:]


def test_other_threads_run_while_bytes_are_awaited_and_can_cancel():
    read, write = os.pipe()
    stream = byte_stream.open(read)
    raised = []

    def wait():
        try:
            next(stream)
        except RuntimeError as error:
            raised.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    stream.cancel()  # now or before the read
    thread.join()
    assert len(raised) == 1
    os.close(read)
    os.close(write)


def test_two_threads_at_once_are_an_error_and_nothing_worse(file):
    stream = byte_stream.open(file, buffer_bytes=100)
    seen = []

    def read():
        for _ in range(3000):
            try:
                seen.append(len(next(stream)))
            except (BufferError, RuntimeError, ValueError, StopIteration):
                pass

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen) <= {100}


def test_errors_are_those_of_the_system_with_the_name():
    with pytest.raises(FileNotFoundError) as raised:
        byte_stream.open("/no/such/file")
    assert raised.value.filename == "/no/such/file" and raised.value.kind == "Io"
    # As Python's own.
    with pytest.raises(FileNotFoundError) as own:
        open("/no/such/file")
    assert str(raised.value) == str(own.value) and raised.value.args == own.value.args
    name = os.fsdecode(b"/no/such/\xff")
    for address in (name, pathlib.Path(name)):
        with pytest.raises(FileNotFoundError) as raised:
            byte_stream.open(address)
        assert raised.value.filename == name
    with pytest.raises(IsADirectoryError) as raised:
        byte_stream.read_all("/")
    assert raised.value.filename == "/"
    with pytest.raises(byte_stream.StreamError) as raised:
        byte_stream.read_all("/dev/zero", limit_bytes=4, buffer_bytes=4)
    assert (raised.value.kind, raised.value.offset) == ("TooLarge", 4)
    text = "/dev/zero: there are more than the limit of 4 bytes at byte 4"
    assert (str(raised.value), raised.value.filename) == (text, "/dev/zero")
    with pytest.raises(OSError) as raised, byte_stream.open("/proc/self/exe") as stream:
        with open("/dev/full", "wb", buffering=0) as full:
            stream.copy_to(full.fileno())
    # The output is to blame, not the input.
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, None)
    assert str(raised.value) == "[Errno 28] No space left on device"
    with pytest.raises(ValueError, match="scheme"):
        byte_stream.open("ftp://host/")
    with pytest.raises(byte_stream.StreamError) as raised:
        byte_stream.read_all("/dev/null", sha256=bytes(32))
    assert raised.value.kind == "Digest"


def test_a_stream_that_failed_stays_failed():
    stream = byte_stream.open("/dev/zero", limit_bytes=8, buffer_bytes=8)
    assert len(next(stream)) == 8
    for _ in range(2):
        with pytest.raises((byte_stream.StreamError, ValueError)):
            next(stream)


def test_files_are_copied_and_never_onto_themselves(file, tmp_path):
    copy = tmp_path / "copy"
    copy.write_bytes(b"x" * (len(BODY) + 1))
    assert byte_stream.copy(file, copy) == len(BODY)
    assert copy.read_bytes() == BODY
    with pytest.raises(OSError, match="is the file"):
        byte_stream.copy(file, os.fspath(file))
    assert file.read_bytes() == BODY
    with open(file, "rb") as source, open(copy, "ab") as to:
        to.write(b"before")
        assert byte_stream.copy(source, to) == len(BODY)
    assert copy.read_bytes() == BODY + b"before" + BODY
    with pytest.raises(FileNotFoundError):
        byte_stream.copy("/no/such/file", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(OSError) as raised:
        byte_stream.copy(file, "/dev/full")
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, None)
    assert str(raised.value) == "[Errno 28] No space left on device"


def test_only_the_public_names_are_there():
    public = {name for name in dir(byte_stream) if not name.startswith("_")}
    assert public == set(byte_stream.__all__)
