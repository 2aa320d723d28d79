"""Samples by the workers of a Dask cluster: each sketches parts, and sketches are merged in a tree.

The result depends on the seed and the order of the files, neither on the parts nor the workers. If
a worker is lost, Dask gives its parts to another one.
"""

from __future__ import annotations

import dask

from . import PART_BYTES, _layout, _list, merge, parts, sketch
from ._frames import frame

__all__ = ["sample", "sketch_of"]

_AT_ONCE = 8


def sample(
    paths, n, seed=0, *, to="list", format=None, header=None, delimiter=None, **choices
):
    """Draws exactly `n` records of the files, or of each stratum, on the current cluster.

    The records are those of `bytelab sample --mergeable` with the same seed. `choices` are those of
    `sketch_of`, and `to` is that of `record_sampler.sample`.
    """
    layout = {"format": format, "header": header, "delimiter": delimiter}
    result = sketch_of(paths, n, seed, **layout, **choices).compute()
    if to == "list":
        return result.records()
    return frame(result.text(), to, *_layout(_list(paths), **layout))


def sketch_of(
    paths, n, seed=0, *, weight=None, per=None, at_most=False, format=None, header=None,
    delimiter=None, max_record=None, part_bytes=PART_BYTES,
):
    """The delayed sketch of the files. The workers must find them under the same paths."""
    divided = parts(
        paths, part_bytes, format=format, header=header, delimiter=delimiter, max_record=max_record
    )
    request = {"n": n, "seed": seed, "weight": weight, "per": per, "at_most": at_most}
    layer = [dask.delayed(_sketch, pure=False)(part, request) for part in divided]
    while len(layer) > 1:
        groups = [layer[at:at + _AT_ONCE] for at in range(0, len(layer), _AT_ONCE)]
        layer = [dask.delayed(merge, pure=False)(group) for group in groups]
    return layer[0]


def _sketch(part, request):
    return sketch(part, **request)
