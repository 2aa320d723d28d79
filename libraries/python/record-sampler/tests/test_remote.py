"""Files that fsspec opens: URLs, patterns of them, and paths of a file system."""

import functools
import gzip
import http.server
import pickle
import threading

import pytest

import record_sampler
from record_sampler import SampleError

fsspec = pytest.importorskip("fsspec")

N = 40


@pytest.fixture
def names(tmp_path):
    """Some files of this machine: plain ones, compressed ones, an empty one."""
    paths = []
    for number in range(12):
        text = b"".join(b"file %d line %d\n" % (number, line) for line in range(50 * number))
        name = f"{number:02}.txt.gz" if number % 3 == 1 else f"{number:02}.txt"
        path = tmp_path / "data" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        paths.append(path)
    return paths


class CountingFileSystem(fsspec.get_filesystem_class("memory")):
    """Counts what is read of each file."""

    protocol = "counting"
    store, pseudo_dirs, requests = {}, [""], []

    def cat_file(self, path, *args, **kwargs):
        self.requests.append(path)
        return super().cat_file(path, *args, **kwargs)

    def open(self, path, *args, **kwargs):
        if kwargs.get("mode", args[0] if args else "rb") == "rb":
            self.requests.append(path)
        return super().open(path, *args, **kwargs)


@pytest.fixture
def memory(names):
    """The same files in memory."""
    memory = fsspec.filesystem("memory")
    for path in names:
        memory.pipe_file(f"/bucket/{path.name}", path.read_bytes())
    yield memory
    memory.rm("/bucket", recursive=True)


def sketched(parts, **choices):
    sketches = [record_sampler.sketch(part, N, 7, **choices) for part in parts]
    return record_sampler.merge(sketches)


def test_a_sample_of_urls_is_that_of_the_files(names, memory):
    expected = record_sampler.sample(names, N, 7, mergeable=True)
    urls = [f"memory://bucket/{path.name}" for path in names]
    some = [*urls[:5], "memory://bucket/0[5-9].txt*", *urls[10:]]
    for paths in [urls, "memory://bucket/*.txt*", some]:
        assert record_sampler.sample(paths, N, 7, mergeable=True) == expected
    paths = [f"/bucket/{path.name}" for path in names]
    drawn = record_sampler.sample(paths, N, 7, mergeable=True, filesystem=memory)
    assert drawn == expected
    files = [f"file://{path}" for path in names]
    assert record_sampler.sample(files, N, 7, mergeable=True) == expected
    # Without it the records are drawn as from file objects.
    assert len(record_sampler.sample(urls, N, 7)) == N


def test_sketches_of_urls_are_those_of_the_files(names, memory):
    expected = sketched(record_sampler.parts(names, 1000)).to_bytes()
    parts = record_sampler.parts("memory://bucket/*")
    assert [part.file for part in parts] == list(range(len(names)))
    assert sketched(parts).to_bytes() == expected
    again = pickle.loads(pickle.dumps(parts))
    assert sketched(reversed(again)).to_bytes() == expected
    assert repr(again[0]) == repr(parts[0])


def test_counts_and_ranks_of_urls_are_those_of_the_files(names, memory):
    parts, local = record_sampler.parts("memory://bucket/*"), record_sampler.parts(names, 1 << 30)
    counts = record_sampler.counts(parts)
    assert counts == record_sampler.counts(local)
    ranks = record_sampler.ranks(counts, N, 7)
    fetched = [record_sampler.fetch(part, of) for part, of in zip(parts, ranks)]
    assert fetched == [record_sampler.fetch(part, of) for part, of in zip(local, ranks)]
    with pytest.raises(SampleError, match="ascending order"):
        record_sampler.fetch(parts[-1], [1, 0])
    with pytest.raises(SampleError, match="memory:.*/bucket/11.txt: .*fewer records"):
        record_sampler.fetch(parts[-1], [1 << 30])


@pytest.mark.parametrize("part_bytes", [1, 700, 5000, 1 << 20])
def test_a_large_file_of_lines_has_parts_as_on_this_machine(tmp_path, memory, part_bytes):
    text = b"".join(b"line %d\r\n" % line for line in range(700)) + b"\n\nlast"
    (tmp_path / "large").write_bytes(text)
    memory.pipe_file("/bucket/large", text)
    local = record_sampler.parts(tmp_path / "large", max(part_bytes, 40))
    for url in ["memory://bucket/large", "memory://bucket/larg*"]:
        parts = record_sampler.parts(url, max(part_bytes, 40))
        is_whole = part_bytes == 1 << 20
        assert len(parts) == len(local) and is_whole == (len(parts) == 1)
        for one, other in zip(parts, local):
            assert one.start == other.start and (one.stop == other.stop or is_whole)
        assert sketched(parts).to_bytes() == sketched(local).to_bytes()
        counts = record_sampler.counts(parts)
        assert counts == record_sampler.counts(local)
        ranks = record_sampler.ranks(counts, N, 7)
        for one, other, of in zip(parts, local, ranks):
            assert record_sampler.fetch(one, of) == record_sampler.fetch(other, of)


def test_a_compressed_file_is_one_part(memory):
    text = b"".join(b"line %d\n" % line for line in range(5000))
    for name in ["a", "b.gz"]:
        memory.pipe_file(f"/bucket/packed/{name}", gzip.compress(text))
    parts = record_sampler.parts("memory://bucket/packed/*", 100)
    assert len(parts) == 2 and record_sampler.counts(parts) == [5000, 5000]
    with pytest.raises(SampleError, match="at least 1 byte"):
        record_sampler.parts("memory://bucket/packed/*", 0)


def test_a_table_has_a_header_and_the_delimiter_that_it_shows(memory):
    for number in range(3):
        rows = "".join(f'{number}.{i};"a;{i}"\n' for i in range(20))
        memory.pipe_file(f"/bucket/{number}.csv", ("id;text\n" + rows).encode())
    with pytest.warns(UserWarning, match="0.csv are separated by a semicolon"):
        parts = record_sampler.parts("memory://bucket/*.csv")
    assert {(part.format, part.delimiter) for part in parts} == {("csv", ";")}
    merged = sketched(parts, weight="id")
    assert (merged.header, merged.seen) == (b"id;text\n", 60)
    pytest.importorskip("pandas")
    with pytest.warns(UserWarning):
        rows = record_sampler.sample("memory://bucket/*.csv", 60, 1, to="pandas")
    assert list(rows.columns) == ["id", "text"] and len(rows) == 60
    memory.pipe_file("/bucket/3.csv", b"id;other\n1;2\n")
    with pytest.warns(UserWarning):
        parts = record_sampler.parts("memory://bucket/*.csv")
    with pytest.raises(SampleError, match="header differs"):
        sketched(parts)


def test_a_file_of_a_pattern_is_one_request(names):
    filesystem = CountingFileSystem()
    for path in names:
        filesystem.pipe_file(f"/bucket/{path.name}", path.read_bytes())
    filesystem.requests.clear()
    parts = record_sampler.parts("/bucket/*", filesystem=filesystem)
    assert filesystem.requests == []
    sketched(parts)
    assert sorted(filesystem.requests) == [f"/bucket/{path.name}" for path in names]


def test_a_server_of_http_is_read(names):
    pytest.importorskip("aiohttp")
    pytest.importorskip("requests")
    handler = functools.partial(
        http.server.SimpleHTTPRequestHandler, directory=str(names[0].parent)
    )
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            base = f"http://127.0.0.1:{server.server_address[1]}"
            # An empty file cannot be opened by some versions of fsspec.
            urls = [f"{base}/{path.name}?x=1" for path in names[1:]]
            drawn = record_sampler.sample(urls, N, 7, mergeable=True)
        finally:
            server.shutdown()
            thread.join()
    assert drawn == record_sampler.sample(names[1:], N, 7, mergeable=True)


def test_what_cannot_be_read_is_said(names, memory):
    with pytest.raises(FileNotFoundError):
        record_sampler.sample("memory://bucket/none", 1)
    with pytest.raises(FileNotFoundError, match="no file matches memory:.*none"):
        record_sampler.parts("memory://bucket/none*")
    with pytest.raises(SampleError, match="not drawn from together"):
        record_sampler.sample([names[0], "memory://bucket/00.txt"], 1)
    with pytest.raises(ValueError, match="nothing"):
        record_sampler.sample("nothing://bucket/a", 1)
    memory.pipe_file("/bucket/a.parquet", b"PAR1")
    with pytest.raises(SampleError):
        record_sampler.parts("memory://bucket/a.parquet")


def test_workers_of_dask_need_no_common_disk(names, memory):
    distributed = pytest.importorskip("distributed")
    import record_sampler.dask

    expected = record_sampler.sample(names, N, 7, mergeable=True)
    # Memory is that of one process; files of URLs are read by several.
    for url, processes in [("memory://bucket", False), (f"file://{names[0].parent}", True)]:
        for workers in [1, 3]:
            cluster = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=processes,
                dashboard_address=None,
            )
            with cluster, distributed.Client(cluster):
                assert record_sampler.dask.sample(f"{url}/*", N, 7) == expected


def test_a_task_of_dask_reads_several_files(memory):
    pytest.importorskip("dask")
    import record_sampler.dask

    for number in range(300):
        memory.pipe_file(f"/bucket/many/{number:03}", b"a %d\nb %d\n" % (number, number))
    expected = sketched(record_sampler.parts("memory://bucket/many/*"))
    delayed = record_sampler.dask.sketch_of("memory://bucket/many/*", N, 7)
    assert len(dict(delayed.dask)) < 300
    assert delayed.compute(scheduler="sync").to_bytes() == expected.to_bytes()
