"""Parts, their sketches and counts: the same sample however files are divided."""

import pickle
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

import record_sampler
from record_sampler import Part, Sampler, SampleError, Sketch


@pytest.mark.parametrize("part_bytes", [100, 1000, 7777, 1 << 30])
def test_sketches_of_all_partitionings_are_the_same(lines, part_bytes, bytelab):
    parts = record_sampler.parts(lines, part_bytes)
    assert (len(parts) > 2) == (part_bytes < 1 << 30)
    with ThreadPoolExecutor(4) as pool:
        sketches = list(pool.map(lambda part: record_sampler.sketch(part, 20, 7), parts))
    random.Random(part_bytes).shuffle(sketches)
    merged = record_sampler.merge(sketches)
    assert merged.to_bytes() == Sampler(20, seed=7).sketch(Part(lines[0])).merge(
        Sampler(20, seed=7).sketch(Part(lines[1], file=1))).to_bytes()
    assert (merged.seen, len(merged.records())) == (5001, 20)
    assert merged.text() == bytelab(*lines, "-n", 20, "--seed", 7, "--mergeable")


@pytest.mark.parametrize("choice", [{"weight": "w"}, {"per": "kind"}])
def test_weights_and_strata(table, choice, bytelab):
    parts = record_sampler.parts(table, 100, format="csv", header=True)
    assert [(part.start, part.file) for part in parts] == [(0, 0)]
    merged = record_sampler.merge(record_sampler.sketch(part, 5, 3, **choice) for part in parts)
    flags = ["-n", 5, "--weight", "w"] if "weight" in choice else ["--per", "kind=5"]
    expected = bytelab(
        table, *flags, "--seed", 3, "--format", "csv", "--header", "--mergeable"
    )
    assert merged.text() == expected and merged.header == b"id,kind,w,text\n"


@pytest.mark.parametrize("choice", [{"n": 50}, {"probability": 0.1}, {"n": 9, "systematic": True}])
def test_counts_and_ranks_give_the_sample_of_one_process(lines, choice):
    expected = record_sampler.sample(lines, seed=4, **choice)
    for part_bytes in [64, 1000, 1 << 30]:
        parts = record_sampler.parts(lines, part_bytes)
        ranks = record_sampler.ranks(record_sampler.counts(parts), seed=4, **choice)
        fetched = [record_sampler.fetch(part, of) for part, of in zip(parts, ranks)]
        text = b"".join(record for records in fetched for record in records)
        assert text.removesuffix(b"\r\n") == b"".join(expected).removesuffix(b"\r\n")


def test_parts_and_sketches_are_pickled(lines):
    part = record_sampler.parts(lines, 1000)[-1]
    again = pickle.loads(pickle.dumps(part))
    assert again == part and hash(again) == hash(part) and repr(again) == repr(part)
    assert again != Part(lines[1])
    sketch = record_sampler.sketch(part, 3, 8)
    assert sketch.seed == 8
    assert pickle.loads(pickle.dumps(sketch)).to_bytes() == sketch.to_bytes()
    assert Sketch.from_bytes(sketch.to_bytes()).records() == sketch.records()


def test_what_does_not_fit_together_is_refused(lines):
    one = record_sampler.sketch(Part(lines[0]), 3, 0)
    with pytest.raises(SampleError, match="different seeds cannot be merged"):
        one.merge(record_sampler.sketch(Part(lines[1], file=1), 3, 1))
    with pytest.raises(SampleError, match="a part was counted twice"):
        one.merge(one)
    for damaged in [b"", one.to_bytes()[:-1], one.to_bytes() + b"x"]:
        with pytest.raises(SampleError):
            Sketch(damaged)


def test_files_with_different_headers_are_named(tmp_path):
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, text in zip(paths, ["id,cost\n1,2\n", "id,price\n3,4\n"]):
        path.write_text(text)
    differs = "b.csv: its header differs in column 2 from that of .*a.csv"
    with pytest.raises(SampleError, match=differs):
        record_sampler.parts(paths, format="csv", header=True)


def test_an_exception_of_the_callback_ends_the_work(lines):
    def stop(_):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        record_sampler.sketch(Part(lines[0]), 3, 0, progress=stop)
    read = []
    record_sampler.sketch(Part(lines[0]), 3, 0, progress=read.append)
    assert sum(read) == lines[0].stat().st_size
