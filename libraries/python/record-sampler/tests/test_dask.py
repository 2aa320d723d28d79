"""Dask clusters of worker processes, one of which is killed within its part."""

import collections
import os

import pytest

import record_sampler

distributed = pytest.importorskip("distributed")

import record_sampler.dask  # noqa: E402

PART_BYTES = 4 << 20


@pytest.fixture
def cluster():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(b"".join(b"line %d of a file that is read in parts\n" % i for i in range(600_000)))
    return path


def killing(marker, log, start):
    """A plugin for workers: the first one that has read half of the part that begins at `start`
    ends by SIGKILL. Each part that is begun is logged, with the process."""

    class Killing(distributed.WorkerPlugin):
        def setup(self, worker):
            import signal

            import record_sampler._api

            def sketch(part, *args, **request):
                read = 0

                def progress(further):
                    nonlocal read
                    read += further
                    is_half = read >= (part.stop - part.start) / 2
                    if part.start == start and is_half and not os.path.exists(marker):
                        with open(marker, "w") as file:
                            file.write(f"{os.getpid()} {read}")
                        os.kill(os.getpid(), signal.SIGKILL)

                with open(log, "a") as file:
                    file.write(f"{part.start} {os.getpid()}\n")
                return record_sampler.sketch(part, *args, progress=progress, **request)

            record_sampler._api.sketch = sketch

    return Killing()


def test_a_killed_worker_changes_nothing(cluster, large, tmp_path, bytelab):
    marker, log = tmp_path / "killed", tmp_path / "begun"
    before = set(cluster.run(os.getpid).values())
    assert len(before) == 2 and os.getpid() not in before
    cluster.register_plugin(killing(str(marker), str(log), 2 * PART_BYTES))

    drawn = record_sampler.dask.sample(large, 100, 5, part_bytes=PART_BYTES)

    killed, read = map(int, marker.read_text().split())
    assert killed in before and PART_BYTES / 2 <= read < PART_BYTES
    begun = collections.defaultdict(list)
    for line in log.read_text().splitlines():
        start, process = map(int, line.split())
        begun[start].append(process)
    assert sorted(begun) == list(range(0, large.stat().st_size, PART_BYTES))
    # The part was begun by the process that was killed, and again by another one.
    retried = begun[2 * PART_BYTES]
    assert retried[0] == killed and len(retried) == 2 and retried[1] != killed
    # Both workers took part.
    assert len({process for processes in begun.values() for process in processes}) >= 2
    assert b"".join(drawn) == bytelab(large, "-n", 100, "--seed", 5, "--mergeable")


def test_weights_strata_and_tables(cluster, table, lines, bytelab):
    flags = ["--seed", 2, "--format", "csv", "--header", "--mergeable"]
    of_table = {"format": "csv", "header": True}
    sketch = record_sampler.dask.sketch_of([table] * 3, 4, 2, weight="w", **of_table).compute()
    assert sketch.text() == bytelab(table, table, table, "-n", 4, "--weight", "w", *flags)
    sketch = record_sampler.dask.sketch_of(table, 4, 2, per="kind", **of_table).compute()
    assert sketch.text() == bytelab(table, "--per", "kind=4", *flags)
    pytest.importorskip("pandas")
    rows = record_sampler.dask.sample(table, 4, 2, to="pandas", per="kind", **of_table)
    assert rows.groupby("kind").size().to_dict() == {"k0": 4, "k1": 4, "k2": 4}
    assert rows.attrs["seed"] == 2
    drawn, seed = record_sampler.dask.sample(lines, 30, return_seed=True, part_bytes=5000)
    assert drawn == record_sampler.dask.sample(lines, 30, seed)
    for part_bytes in [500, 5000, 1 << 20]:
        drawn = record_sampler.dask.sample(lines, 30, 2, part_bytes=part_bytes)
        assert b"".join(drawn) == bytelab(*lines, "-n", 30, "--seed", 2, "--mergeable")


def test_what_cannot_be_is_said_before_the_workers_begin(tmp_path):
    with pytest.raises(record_sampler.SampleError, match="no file is given"):
        record_sampler.dask.sample([], 2)
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, text in zip(paths, ["id,cost\n1,2\n", "id,price\n3,4\n"]):
        path.write_text(text)
    with pytest.raises(record_sampler.SampleError, match="b.csv: its header differs .*a.csv"):
        record_sampler.dask.sample(paths, 2, format="csv", header=True)
    public = {name for name in dir(record_sampler.dask) if not name.startswith("_")}
    assert public == set(record_sampler.dask.__all__)


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_neither_the_number_of_workers_nor_the_partitioning_decides(workers, lines, large, bytelab):
    """Workers are processes; the sample is also that of the command line in one process."""
    expected = bytelab(*lines, large, "-n", 100, "--seed", 5, "--mergeable")
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        assert len(set(client.run(os.getpid).values()) - {os.getpid()}) == workers
        for part_bytes in [1 << 20, 3_000_001, 8 << 20, 1 << 40]:
            drawn = record_sampler.dask.sample([*lines, large], 100, 5, part_bytes=part_bytes)
            assert b"".join(drawn) == expected
