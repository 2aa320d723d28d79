import gc
import os

import byte_stream
import pytest

from conftest import BODY

COPYING = ["auto", "read", "pread", "direct"]


def test_a_loaded_file_is_its_bytes(file):
    for way in [*COPYING, "map"]:
        loaded = byte_stream.load(file, way=way, threads=2, allow_map=True)
        assert bytes(loaded) == BODY and len(loaded) == len(BODY)
        assert memoryview(loaded).readonly and loaded.part(0) == BODY


@pytest.mark.parametrize("way", COPYING)
def test_parts_are_loaded_in_their_order(file, way):
    loaded = byte_stream.load(os.fspath(file), way=way, parts=[(1000, 5001), (3, 3), (0, 7)])
    assert bytes(loaded) == BODY[1000:5001] + BODY[:7]
    assert [bytes(loaded.part(n)) for n in range(3)] == [BODY[1000:5001], b"", BODY[:7]]
    with pytest.raises(IndexError, match="no part 3"):
        loaded.part(3)
    assert len(byte_stream.load(file, parts=[])) == 0


def test_an_array_is_the_same_memory_and_keeps_it_alive(file):
    numpy = pytest.importorskip("numpy")
    loaded = byte_stream.load(file, way="pread")
    array, again = numpy.frombuffer(loaded, numpy.uint8), numpy.frombuffer(loaded, numpy.uint8)
    assert array.ctypes.data == again.ctypes.data and not array.flags.writeable
    del loaded, again
    gc.collect()
    assert bytes(array) == BODY


def test_bytes_that_are_in_use_are_not_released(file):
    loaded = byte_stream.load(file)
    part = memoryview(loaded)[10:20]
    with pytest.raises(BufferError, match="still in use"):
        loaded.release()
    assert bytes(part) == BODY[10:20]
    part.release()
    loaded.release()
    loaded.release()
    with pytest.raises(BufferError, match="was released"):
        memoryview(loaded)
    for use in (loaded.__len__, lambda: loaded.part(0)):
        with pytest.raises(ValueError, match="was released"):
            use()
    with byte_stream.load(file) as loaded:
        assert loaded.part(0)[0] == BODY[0]
    with pytest.raises(BufferError):
        bytes(loaded)
    # It does not need the bytes.
    assert loaded.choice.size_bytes == len(BODY)


def test_it_cannot_be_written(file):
    loaded = byte_stream.load(file)
    with open(file, "rb") as source, pytest.raises((BufferError, TypeError)):
        source.readinto(loaded)
    loaded.release()


def test_the_choice_says_which_way_and_why(file):
    choice = byte_stream.load(file).choice
    assert (choice.way, choice.reason, choice.threads) == ("read", "Small", 1)
    assert (choice.memory_left_bytes, choice.cached_share, choice.read_1m_s) == (None, None, None)
    assert str(choice) == "read: 500.0 KiB are few" and str(choice) in repr(choice)
    choice = byte_stream.load("/proc/self/status").choice
    assert (choice.reason, choice.memory_left_bytes is None) == ("UnknownSize", False)
    choice = byte_stream.load(file, way="pread", threads=3).choice
    assert (choice.way, choice.reason, choice.threads) == ("pread", "Requested", 3)


def test_progress_is_reported_and_can_stop_the_loading(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(bytes(5 << 20))
    seen = []
    byte_stream.load(path, way="pread", threads=2, progress=lambda *now: seen.append(now))
    assert seen == [(n << 20, 5 << 20) for n in range(1, 6)]

    def stop(done, total):
        raise KeyError(done)

    with pytest.raises(KeyError):
        byte_stream.load(path, way="pread", threads=2, progress=stop)


def test_what_cannot_be_loaded_is_an_error(file):
    with pytest.raises(FileNotFoundError) as raised:
        byte_stream.load("/no/such/file")
    assert (raised.value.filename, raised.value.kind) == ("/no/such/file", "Io")
    with pytest.raises(IsADirectoryError):
        byte_stream.load("/")
    with pytest.raises(ValueError, match="is not inside the 512000 bytes at byte 5"):
        byte_stream.load(file, parts=[(5, len(BODY) + 1)])
    with pytest.raises(ValueError, match="allow_map"):
        byte_stream.load(file, way="map")
    with pytest.raises(ValueError, match='no way "mmap" .* auto, read, pread, map, direct'):
        byte_stream.load(file, way="mmap")
    with pytest.raises(ValueError, match="from 1 to 256"):
        byte_stream.load(file, threads=0)
