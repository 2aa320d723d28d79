#!/usr/bin/env python3
"""The processor time and the wall time of a sketch by 1 to 4 worker processes, beside one process.

    libraries/python/record-sampler/bench/workers.py [--megabytes 500] [--rounds 7] [DIRECTORY]

A file of lines is made once and divided into parts of 16 MB. In each round one process sketches the
whole file, and 1, 2, 3 and 4 workers, which were started before, share its parts; who is first
changes. Ratios are the medians of those within a round. All samples are the same.
"""

import argparse
import hashlib
import multiprocessing
import pathlib
import resource
import statistics
import tempfile
import time

import record_sampler

PART_BYTES = 16_000_000
N, SEED = 1000, 7


def sketched(part):
    """The sketch of a part as bytes, and the processor time that it took here."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    sketch = record_sampler.sketch(part, N, SEED).to_bytes()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return sketch, sum(getattr(after, t) - getattr(before, t) for t in ("ru_utime", "ru_stime"))


def made(directory, megabytes):
    path = directory / f"lines-{megabytes}.txt"
    if not path.exists():
        block = b"".join(b"%07d of a file whose lines have sixty bytes, nearly all\n" % i
                         for i in range(100_000))
        with open(path, "wb") as file:
            for _ in range(max(1, megabytes * 1_000_000 // len(block))):
                file.write(block)
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("directory", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()))
    arguments = parser.parse_args()
    path = made(arguments.directory, arguments.megabytes)
    whole, parts = record_sampler.parts(path, 1 << 60), record_sampler.parts(path, PART_BYTES)
    with multiprocessing.get_context("spawn").Pool(1) as one, \
            multiprocessing.get_context("spawn").Pool(2) as two, \
            multiprocessing.get_context("spawn").Pool(3) as three, \
            multiprocessing.get_context("spawn").Pool(4) as four:
        ways = {"one process, the whole file": (one, whole)}
        for workers, pool in enumerate([one, two, three, four], 1):
            ways[f"{workers} workers, {len(parts)} parts"] = (pool, parts)
        measure(ways, arguments.rounds, path.stat().st_size)


def measure(ways, rounds, size):
    names, costs, digests = list(ways), {name: [] for name in ways}, set()
    for number in range(rounds + 1):
        for turn in range(len(names)):
            name = names[(turn + number) % len(names)]
            pool, parts = ways[name]
            start = time.perf_counter()
            results = list(pool.imap_unordered(sketched, parts))
            merged = record_sampler.merge(record_sampler.Sketch(sketch) for sketch, _ in results)
            wall, cpu = time.perf_counter() - start, sum(cpu for _, cpu in results)
            digests.add(hashlib.sha256(merged.to_bytes()).hexdigest())
            if number > 0:  # The first round warms up.
                costs[name].append((cpu, wall))
    print(f"{size / 1e6:.0f} MB; {len(digests)} different samples")
    print(f"{'':<30} {'CPU ns/byte':>12} {'ratio':>6} {'wall ms':>8} {'ratio':>6}")
    for name in names:
        ratio = [statistics.median(own[i] / one[i] for own, one in zip(costs[name], costs[names[0]]))
                 for i in (0, 1)]
        cpu, wall = (statistics.median(cost[i] for cost in costs[name]) for i in (0, 1))
        print(f"{name:<30} {cpu * 1e9 / size:>12.3f} {ratio[0]:>6.2f} {wall * 1e3:>8.0f} {ratio[1]:>6.2f}")
    if len(digests) != 1:
        raise SystemExit("the samples differ")


if __name__ == "__main__":
    main()
