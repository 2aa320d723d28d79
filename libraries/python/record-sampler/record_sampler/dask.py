"""Samples by the workers of a Dask cluster: each sketches parts, and sketches are merged in a tree.

The result depends on the seed and the order of the files, neither on the parts nor the workers. If
a worker is lost, Dask gives its parts to another one.
"""

import dask as _dask

from . import _api, _frames
from ._native import Sampler as _Sampler

__all__ = ["sample", "sketch_of"]

_AT_ONCE = 8


def sample(
    paths, n, seed=None, *, to="list", format=None, header=None, delimiter=None, encoding="utf-8",
    dtypes=None, return_seed=False, weight=None, per=None, at_most=False, max_record=None,
    part_bytes=_api.PART_BYTES,
):
    """Draws exactly `n` records of the files, or of each stratum, on the current cluster.

    The records are those of `bytelab sample --mergeable` with the same seed. The workers must find
    the files under the same paths. The keywords up to `return_seed` are those of
    `record_sampler.sample`, and the others those of `sketch_of`.
    """
    _frames.check(to, format, dtypes)
    divided = _api.parts(
        paths, part_bytes, format=format, header=header, delimiter=delimiter, max_record=max_record
    )
    sketch = _merged(divided, _request(n, seed, weight, per, at_most)).compute()
    drawn = (divided[0].format, divided[0].delimiter, sketch.header, sketch.records())
    result = _frames.frame(*drawn, to, encoding, dtypes)
    return _frames.with_seed(result, to, sketch.seed, return_seed)


def sketch_of(
    paths, n, seed=None, *, weight=None, per=None, at_most=False, format=None, header=None,
    delimiter=None, max_record=None, part_bytes=_api.PART_BYTES,
):
    """The delayed sketch of the files, which has the seed. The workers must find the files under
    the same paths."""
    divided = _api.parts(
        paths, part_bytes, format=format, header=header, delimiter=delimiter, max_record=max_record
    )
    return _merged(divided, _request(n, seed, weight, per, at_most))


def _request(n, seed, weight, per, at_most):
    """What each worker draws, with the same seed."""
    seed = _Sampler(n, seed=seed).seed
    return {"n": n, "seed": seed, "weight": weight, "per": per, "at_most": at_most}


def _merged(divided, request):
    layer = [_dask.delayed(_sketch, pure=False)(part, request) for part in divided]
    while len(layer) > 1:
        groups = [layer[at:at + _AT_ONCE] for at in range(0, len(layer), _AT_ONCE)]
        layer = [_dask.delayed(_api.merge, pure=False)(group) for group in groups]
    return layer[0]


def _sketch(part, request):
    return _api.sketch(part, **request)
