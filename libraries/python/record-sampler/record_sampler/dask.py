"""Samples by the workers of a Dask cluster: each sketches parts, and sketches are merged in a tree.

The result depends on the seed and the order of the files, neither on the parts nor the workers. If
a worker is lost, Dask gives its parts to another one.
"""

from concurrent.futures import ThreadPoolExecutor as _ThreadPool

import dask as _dask

from . import _api, _frames, _remote
from ._native import Sampler as _Sampler

__all__ = ["sample", "sketch_of"]

_AT_ONCE = 8
# Files of other machines are waited for: a task reads several, these at once.
_READERS = 8
_FILES_OF_TASK = 64
_LEAST_TASKS = 128


def sample(
    paths, n, seed=None, *, to="list", format=None, header=None, delimiter=None, encoding="utf-8",
    dtypes=None, return_seed=False, weight=None, per=None, at_most=False, max_record=None,
    part_bytes=_api.PART_BYTES, filesystem=None,
):
    """Draws exactly `n` records of the files, or of each stratum, on the current cluster.

    The records are those of `bytelab sample --mergeable` with the same seed. The workers must find
    the files under the same paths; URLs, and paths of `filesystem`, are opened by fsspec. The
    keywords up to `return_seed` are those of `record_sampler.sample`, and the others those of
    `sketch_of`.
    """
    _frames.check(to, format, dtypes)
    divided = _api.parts(
        paths, part_bytes, format=format, header=header, delimiter=delimiter,
        max_record=max_record, filesystem=filesystem,
    )
    sketch = _merged(divided, _request(n, seed, weight, per, at_most)).compute()
    drawn = (divided[0].format, divided[0].delimiter, sketch.header, sketch.records())
    result = _frames.frame(*drawn, to, encoding, dtypes)
    return _frames.with_seed(result, to, sketch.seed, return_seed)


def sketch_of(
    paths, n, seed=None, *, weight=None, per=None, at_most=False, format=None, header=None,
    delimiter=None, max_record=None, part_bytes=_api.PART_BYTES, filesystem=None,
):
    """The delayed sketch of the files, which has the seed. The workers must find the files under
    the same paths; URLs, and paths of `filesystem`, are opened by fsspec."""
    divided = _api.parts(
        paths, part_bytes, format=format, header=header, delimiter=delimiter,
        max_record=max_record, filesystem=filesystem,
    )
    return _merged(divided, _request(n, seed, weight, per, at_most))


def _request(n, seed, weight, per, at_most):
    """What each worker draws, with the same seed."""
    seed = _Sampler(n, seed=seed).seed
    return {"n": n, "seed": seed, "weight": weight, "per": per, "at_most": at_most}


def _merged(divided, request):
    layer = [_dask.delayed(_sketch, pure=False)(group, request) for group in _groups(divided)]
    while len(layer) > 1:
        groups = [layer[at:at + _AT_ONCE] for at in range(0, len(layer), _AT_ONCE)]
        layer = [_dask.delayed(_api.merge, pure=False)(group) for group in groups]
    return layer[0]


def _groups(divided):
    """The parts of each task: one of a file of this machine, several files of others."""
    if not isinstance(divided[0], _remote.RemotePart):
        return [[part] for part in divided]
    size = max(1, min(_FILES_OF_TASK, len(divided) // _LEAST_TASKS))
    return [divided[at:at + size] for at in range(0, len(divided), size)]


def _sketch(group, request):
    if len(group) == 1:
        return _api.sketch(group[0], **request)
    with _ThreadPool(_READERS) as pool:
        return _api.merge(pool.map(lambda part: _api.sketch(part, **request), group))
