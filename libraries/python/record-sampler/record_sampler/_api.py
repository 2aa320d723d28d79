"""The functions of the package, and those that make again what was pickled."""

import functools

from . import _frames, _remote
from ._inputs import inputs
from ._native import Part, SampleError, Sampler, Sketch, is_parquet
from ._native import parts as _parts

PART_BYTES = 64 << 20


def sample(
    paths, n=None, seed=None, *, to="list", format=None, header=None, delimiter=None,
    max_record=None, encoding="utf-8", dtypes=None, return_seed=False, filesystem=None, **choices
):
    """Draws records of files, which are one population: exactly `n`, or each with `probability`.

    `paths` is a path, a pattern such as "*.csv", a URL or a binary file object, or several. URLs,
    and paths of `filesystem`, are opened by fsspec and read once, as file objects are. The same
    seed gives the same records as `bytelab sample`; without one there is a new seed each time,
    which is in `attrs["seed"]` of a DataFrame of pandas. With `return_seed` the result is a pair of the
    sample and the seed. The other choices are those of `Sampler`: `probability`, `at_most`,
    `weight`, `per`, `with_replacement`, `systematic`, `invert`, `shuffle`, `mergeable`.

    The format is found by the endings of the names, as in `x.csv.gz`, or else by the first bytes,
    unless `format` names it; `csv` and `tsv` have a header, unless `header` is False, and the
    delimiter that it shows, unless `delimiter` is another one.

    `to` is "list" (of bytes), "pandas", "polars" or "arrow". A table has one row for each record.
    Fields are text as they are in the file, decoded by `encoding`, or bytes if that is None.
    `dtypes`, a type or a type for each name, converts columns; an empty field is then missing where
    the type is one of numbers, truth values or times. Members of JSON and rows of Parquet have
    types of their own.
    """
    names, files = inputs(paths, filesystem)
    if format is None and names and is_parquet(names[0]):
        format = "parquet"
    _frames.check(to, format, dtypes)
    sampler = Sampler(n, seed=seed, **choices)
    if format == "parquet":
        if header or delimiter or max_record is not None:
            raise SampleError("Parquet has neither a header, a delimiter nor a largest record")
        result = _frames.rows(sampler.parquet(names or files), to)
    else:
        drawn = sampler.draw(
            names or files, format=format, header=header, delimiter=delimiter,
            max_record=max_record,
        )
        result = _frames.frame(*drawn, to, encoding, dtypes)
    return _frames.with_seed(result, to, sampler.seed, return_seed)


def parts(
    paths, part_bytes=PART_BYTES, *, format=None, header=None, delimiter=None, max_record=None,
    filesystem=None
):
    """Divides files into parts, which other processes may sketch, count or fetch from.

    Each file of a URL or of `filesystem`, which fsspec opens, is one part, but for large ones of
    lines and of JSON Lines.
    """
    names, files = inputs(paths, filesystem)
    if files and all(isinstance(file, _remote.RemoteFile) for file in files):
        if part_bytes < 1:
            raise SampleError("a part must have at least 1 byte")
        return _remote.parts(files, part_bytes, format, header, delimiter, max_record)
    return _parts(
        names or files, part_bytes, format=format, header=header, delimiter=delimiter,
        max_record=max_record,
    )


def sketch(part, n, seed, *, weight=None, per=None, at_most=False, progress=None):
    """The sample of a part, which can be merged with those of the other parts, of the same seed."""
    sampler = Sampler(n, seed=seed, weight=weight, per=per, at_most=at_most)
    if isinstance(part, _remote.RemotePart):
        return part.sketch(sampler, progress)
    return sampler.sketch(part, progress)


def merge(sketches):
    """The sketch of all: the same in any order, and for any partitioning."""
    sketches = iter(sketches)
    first = next(sketches, None)
    if first is None:
        raise SampleError("no sketch is given")
    return functools.reduce(Sketch.merge, sketches, first)


def counts(parts):
    """The number of records of each part."""
    return [part.count() for part in parts]


def ranks(counts, n=None, seed=None, **choices):
    """The ranks to fetch from each part, so that all together are what `sample` draws."""
    return Sampler(n, seed=seed, **choices).ranks(counts)


def fetch(part, ranks):
    """The records of a part with these ranks."""
    return part.fetch(ranks)


def part(path, file, start, stop, format, header, delimiter, max_record):
    """Makes a part that was pickled."""
    return Part(
        path, file=file, start=start, stop=stop, format=format, header=header, delimiter=delimiter,
        max_record=max_record,
    )


def sampler(arguments):
    """Makes a sampler that was pickled."""
    return Sampler(**arguments)
