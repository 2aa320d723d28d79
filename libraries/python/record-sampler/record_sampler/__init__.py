"""Fair random records from huge files, on one machine or many.

>>> import record_sampler
>>> record_sampler.sample("README.md", 2, seed=1)  # doctest: +SKIP
"""

from __future__ import annotations

import functools
import os

from ._frames import frame
from ._native import Part, SampleError, Sampler, Sketch
from ._native import layout as _layout
from ._native import parts as _parts

__all__ = [
    "Part", "SampleError", "Sampler", "Sketch", "counts", "fetch", "merge", "parts", "ranks",
    "sample", "sketch",
]

PART_BYTES = 64 << 20


def sample(
    paths, n=None, seed=0, *, to="list", format=None, header=None, delimiter=None,
    max_record=None, **choices
):
    """Draws records of files, which are one population: exactly `n`, or each with `probability`.

    The same seed gives the same records as `bytelab sample`. `to` is "list" (of bytes), "pandas",
    "polars" or "arrow". The format is found by the endings of the names, as in `x.csv.gz`, or else
    by the first bytes, unless `format` names it; `csv` and `tsv` have a header, unless `header` is
    False, and the delimiter that it shows, unless `delimiter` is another one. The other choices are
    those of `Sampler`: `probability`, `at_most`, `weight`, `per`, `with_replacement`, `systematic`,
    `invert`, `shuffle`, `mergeable`.
    """
    sampler = Sampler(n, seed=seed, **choices)
    paths, layout = _list(paths), {"format": format, "header": header, "delimiter": delimiter}
    if to == "list":
        return sampler.records(paths, max_record=max_record, **layout)
    return frame(sampler.text(paths, max_record=max_record, **layout), to, *_layout(paths, **layout))


def parts(
    paths, part_bytes=PART_BYTES, *, format=None, header=None, delimiter=None, max_record=None
):
    """Divides files into parts, which other processes may sketch, count or fetch from."""
    return _parts(
        _list(paths), part_bytes, format=format, header=header, delimiter=delimiter,
        max_record=max_record,
    )


def sketch(part, n, seed=0, *, weight=None, per=None, at_most=False, progress=None):
    """The sample of a part, which can be merged with those of the other parts."""
    sampler = Sampler(n, seed=seed, weight=weight, per=per, at_most=at_most)
    return sampler.sketch(part, progress)


def merge(sketches):
    """The sketch of all: the same in any order, and for any partitioning."""
    return functools.reduce(Sketch.merge, sketches)


def counts(parts):
    """The number of records of each part."""
    return [part.count() for part in parts]


def ranks(counts, n=None, seed=0, **choices):
    """The ranks to fetch from each part, so that all together are what `sample` draws."""
    return Sampler(n, seed=seed, **choices).ranks(counts)


def fetch(part, ranks):
    """The records of a part with these ranks."""
    return part.fetch(ranks)


def _list(paths):
    """One path is a list of it."""
    return [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)


def _part(path, file, start, stop, format, header, delimiter, max_record):
    """Makes a part that was pickled."""
    return Part(
        path, file=file, start=start, stop=stop, format=format, header=header, delimiter=delimiter,
        max_record=max_record,
    )


def _sampler(arguments):
    """Makes a sampler that was pickled."""
    return Sampler(**arguments)
