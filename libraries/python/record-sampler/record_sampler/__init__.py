"""Fair random records from huge files, on one machine or many.

>>> import record_sampler
>>> record_sampler.sample("README.md", 2, seed=1)  # doctest: +SKIP
"""

from ._api import PART_BYTES, counts, fetch, merge, parts, ranks, sample, sketch
from ._native import Part, SampleError, Sampler, Sketch

__all__ = [
    "PART_BYTES", "Part", "SampleError", "Sampler", "Sketch", "counts", "fetch", "merge", "parts",
    "ranks", "sample", "sketch",
]
