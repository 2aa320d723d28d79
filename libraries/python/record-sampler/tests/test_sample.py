"""Samples of one process."""

import gzip
import pickle

import pytest

import record_sampler
from record_sampler import Part, Sampler, SampleError


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


READS = "@r1\nACGT\n+\n@III\n@r2\nGG\n+\n++\n"
SEMICOLON = 'id;note\n1;"first\nsecond"\n2;plain\n'


def test_what_files_are_is_found(tmp_path, table, bytelab):
    def made(name, text):
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path / name

    reads = made("r.fq", READS)
    packed = made("p.fq.gz", gzip.compress(READS.encode()))
    for path in [reads, packed]:
        assert record_sampler.sample(path, 2) == [READS[:16].encode(), READS[16:].encode()]
    assert len(record_sampler.sample(reads, 8, format="lines")) == 8
    # The name and the format act alike, and as the program does.
    text = Sampler(5, seed=1).text([table])
    assert text == Sampler(5, seed=1).text([table], format="csv", header=True)
    assert text == bytelab(table, "-n", 5, "--seed", 1)
    assert len(record_sampler.sample(table, 601, header=False)) == 601
    assert record_sampler.parts(table, 100)[0].header
    with pytest.warns(UserWarning, match="separated by a semicolon, as its header shows"):
        drawn = record_sampler.sample(made("s.csv", SEMICOLON), 2)
    assert drawn == [b'1;"first\nsecond"\n', b"2;plain\n"]
    assert record_sampler.sample(tmp_path / "s.csv", 2, delimiter=";") == drawn
    part = Part(tmp_path / "s.csv", delimiter=";")
    assert pickle.loads(pickle.dumps(part)) == part and part.format == "csv"
    with pytest.raises(SampleError, match="but the delimiter is a comma"):
        record_sampler.sample(tmp_path / "s.csv", 2, delimiter=",")
    vcf = "##fileformat=VCFv4.2\n#CHROM\n1\n2\n"
    with pytest.warns(UserWarning, match="begins as vcf does"):
        assert record_sampler.sample(made("v.txt", vcf), 2) == [b"1\n", b"2\n"]
    for name, text, command in [
        ("a.csv", "\ufeffa,b\n".encode("utf-16-le"), "iconv -f UTF-16"),
        ("a.arrow", b"ARROW1\0\0", "python3 -c"),
        ("a.avro", b"Obj\x01", "fastavro"),
    ]:
        with pytest.raises(SampleError, match=command):
            record_sampler.sample(made(name, text), 1)


@pytest.mark.parametrize("to", ["pandas", "polars", "arrow"])
def test_a_found_format_is_a_table(to, table, tmp_path):
    pytest.importorskip({"arrow": "pyarrow"}.get(to, to))
    assert record_sampler.sample(table, 50, to=to).shape == (50, 4)
    semicolon = tmp_path / "s.csv"
    semicolon.write_text(SEMICOLON)
    assert record_sampler.sample(semicolon, 2, to=to, delimiter=";").shape == (2, 2)


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
