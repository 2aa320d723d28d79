"""What may be named as the files of a population."""

import gzip
import io

import pytest

import record_sampler
from record_sampler import Part, Sampler, SampleError


def test_a_pattern_is_the_files_that_it_matches(lines, tmp_path):
    expected = record_sampler.sample(sorted(lines), 30, 7)
    for pattern in [f"{tmp_path}/*", tmp_path / "[fs]*", f"{tmp_path.parent}/**/{tmp_path.name}/*"]:
        assert record_sampler.sample(pattern, 30, 7) == expected
        assert Sampler(30, seed=7).records([pattern]) == expected
    named = record_sampler.parts([f"{tmp_path}/f*", lines[1]])
    assert [part.path.name for part in named] == ["first", "second"]
    # A file with such a name is that file.
    odd = tmp_path / "f*"
    odd.write_bytes(b"odd\n")
    assert record_sampler.sample(odd, 1) == [b"odd\n"]
    assert record_sampler.sample(bytes(odd), 1) == [b"odd\n"]
    with pytest.raises(FileNotFoundError, match="no file matches .*none"):
        record_sampler.sample(f"{tmp_path}/none*", 1)


def test_a_file_object_is_read_once_from_where_it_is(lines):
    data = lines[0].read_bytes()
    assert record_sampler.sample(io.BytesIO(data), 3000) == data.splitlines(keepends=True)
    file = io.BytesIO(data)
    file.seek(len(b"first 0\n"))
    assert record_sampler.sample(file, probability=1.0)[0] == b"first 1\n"
    with open(lines[0], "rb") as first, open(lines[1], "rb") as second:
        both = record_sampler.sample([first, second], probability=1.0)
    assert len(both) == 5001
    packed = io.BytesIO(gzip.compress(b"id,v\n1,2\n"))
    assert record_sampler.sample(packed, 1, format="csv", header=True) == [b"1,2\n"]
    with pytest.raises(SampleError, match="a systematic sample needs the number of records"):
        record_sampler.sample(io.BytesIO(data), 3, systematic=True)
    with pytest.raises(SampleError, match="only files have parts"):
        record_sampler.parts(io.BytesIO(data))


class Faulty:
    """A file object that gives what it was made with, and raises that if it is an exception."""

    def __init__(self, result):
        self.result = result

    def read(self, size):
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result * (size + 1)


def test_what_a_file_object_raises_is_raised(tmp_path):
    with pytest.raises(KeyError, match="lost"):
        record_sampler.sample(Faulty(KeyError("lost")), 1)
    with pytest.raises(KeyboardInterrupt):
        record_sampler.sample(Faulty(KeyboardInterrupt()), 1)
    with pytest.raises(SampleError, match="must give bytes: open it in binary mode"):
        record_sampler.sample(io.StringIO("a\n"), 1)
    with pytest.raises(SampleError, match="gave more bytes than requested"):
        record_sampler.sample(Faulty(b"a"), 1)


def test_what_is_no_file_is_said(lines):
    for draw in [record_sampler.sample, record_sampler.parts]:
        with pytest.raises(SampleError, match="no file is given"):
            draw([])
    with pytest.raises(SampleError, match="paths and file objects are not drawn from together"):
        record_sampler.sample([lines[0], io.BytesIO(b"a\n")], 1)
    with pytest.raises(TypeError):
        record_sampler.sample(7, 1)
    with pytest.raises(SampleError, match="no sketch is given"):
        record_sampler.merge([])
    with pytest.raises(TypeError, match="seed"):
        record_sampler.sketch(Part(lines[0]), 3)


def test_only_the_public_names_are_there():
    public = {name for name in dir(record_sampler) if not name.startswith("_")}
    # A module that is imported is a name of its package.
    assert public - {"dask"} == set(record_sampler.__all__)
    for name in record_sampler.__all__:
        assert getattr(record_sampler, name) is not None
