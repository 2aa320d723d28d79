"""Samples of one process."""

import pickle

import pytest

import record_sampler
from record_sampler import Sampler, SampleError


def test_records_are_those_of_the_command_line(lines, table, bytelab):
    drawn = record_sampler.sample(lines[0], 20, seed=7)
    assert b"".join(drawn) == bytelab(lines[0], "-n", 20, "--seed", 7)
    text = Sampler(9, seed=1, weight="w").text([table], format="csv", header=True)
    flags = ["--format", "csv", "--header", "--seed", 1]
    assert text == bytelab(table, "-n", 9, "--weight", "w", *flags)
    text = Sampler(2, seed=1, per="kind").text([table], format="csv", header=True)
    assert text == bytelab(table, "--per", "kind=2", *flags)
    text = Sampler(20, seed=7, mergeable=True).text(lines)
    assert text == bytelab(*lines, "-n", 20, "--seed", 7, "--mergeable")
    assert text != Sampler(20, seed=7).text(lines)


def test_every_choice_is_passed_on(lines):
    path = lines[0]
    every = record_sampler.sample(path, probability=1.0)
    assert len(every) == 3000
    assert len(record_sampler.sample(path, 9999, at_most=True)) == 3000
    assert len(record_sampler.sample(path, 10, invert=True)) == 2990
    assert len(set(record_sampler.sample(path, 9000, with_replacement=True))) < 3000
    ranks = [every.index(record) for record in record_sampler.sample(path, 30, systematic=True)]
    assert {b - a for a, b in zip(ranks, ranks[1:])} == {100}
    shuffled = record_sampler.sample(path, 3000, shuffle=True)
    assert shuffled != every and sorted(shuffled) == sorted(every)
    assert record_sampler.sample(path, 20) != record_sampler.sample(path, 20)
    assert record_sampler.sample(path, 20, 3) == record_sampler.sample(path, 20, 3)
    fixed = record_sampler.sample(path, 5, format="fixed:1")
    assert [len(record) for record in fixed] == [1] * 5


def test_what_cannot_be_is_an_exception(lines, tmp_path):
    with pytest.raises(SampleError, match="3001 records were requested, but there are 3000"):
        record_sampler.sample(lines[0], 3001)
    with pytest.raises(FileNotFoundError, match="no-such-file"):
        record_sampler.sample(tmp_path / "no-such-file", 1)
    with pytest.raises(SampleError, match='unknown format "xml"'):
        record_sampler.sample(lines[0], 1, format="xml")
    with pytest.raises(SampleError, match="unknown result 'r', allowed is list, pandas, polars"):
        record_sampler.sample(lines[0], 1, to="r")
    with pytest.raises(SampleError, match="records of fastq are no table, but a list"):
        record_sampler.sample(lines[0], 1, to="pandas", format="fastq")
    with pytest.raises(SampleError, match="dtypes are for tables, and a list has bytes"):
        record_sampler.sample(lines[0], 1, dtypes="int64")
    with pytest.raises(SampleError, match="either a number of records or a probability"):
        record_sampler.sample(lines[0])
    with pytest.raises(TypeError):
        record_sampler.sample(lines[0], 1, weigth="w")
    assert issubclass(SampleError, ValueError)


def test_a_sampler_is_pickled_with_its_arguments(table):
    sampler = Sampler(2, seed=5, per=2, at_most=True)
    again = pickle.loads(pickle.dumps(sampler))
    assert again.records([table], format="csv") == sampler.records([table], format="csv")
    assert again.seed == sampler.seed == 5
    assert Sampler(2).seed != Sampler(2).seed
    new = Sampler(2)
    assert pickle.loads(pickle.dumps(new)).seed == new.seed
