"""Tables: a row is a record that was drawn, and its values are what the record has."""

import io

import pytest

import record_sampler
from record_sampler import SampleError

LIBRARIES = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}


@pytest.fixture(params=LIBRARIES)
def to(request):
    pytest.importorskip(LIBRARIES[request.param])
    return request.param


def values(table, name, to):
    """A column as a list, with None for what is missing."""
    column = table[name]
    if to == "arrow":
        return column.to_pylist()
    if to == "polars":
        return column.to_list()
    import pandas

    return [None if pandas.api.types.is_scalar(v) and pandas.isna(v) else v for v in column]


def names(table, to):
    return table.column_names if to == "arrow" else list(table.columns)


def test_a_line_is_a_row_whatever_separators_of_text_it_has(to, tmp_path):
    lines = ["one\x0ctwo", "three\u2028four", "five\x85six", "a\x1cb\x0bc\rd", "seven"]
    (tmp_path / "lines").write_bytes("\r\n".join(lines).encode())
    drawn = record_sampler.sample(tmp_path / "lines", 5, to=to)
    assert drawn.shape == (5, 1) and values(drawn, "line", to) == lines


def test_text_that_is_not_utf_8_is_decoded_as_it_is_said(to, tmp_path):
    path = tmp_path / "latin"
    path.write_bytes(b"a\xe9b\nplain\n")
    with pytest.raises(SampleError, match="is not utf-8: give another encoding, or None for bytes"):
        record_sampler.sample(path, 2, to=to)
    drawn = record_sampler.sample(path, 2, to=to, encoding="latin-1")
    assert values(drawn, "line", to) == ["a\xe9b", "plain"]
    drawn = record_sampler.sample(path, 2, to=to, encoding=None)
    assert values(drawn, "line", to) == [b"a\xe9b", b"plain"]


def test_fields_of_csv_stay_the_text_that_they_are(to, tmp_path):
    path = tmp_path / "table.csv"
    rows = [
        ("007", "1e5", "2020-01-01", "true", "a\nb"), ("", "NA", "null", "1_000", 'say "x"'),
        ("-0", "0x10", "12:00", "NaN", ";,\r\n"), (" 1", "1.50", "", "inf", "\u00e9\x0c"),
    ]
    records = [f'{",".join(row[:4])},"{row[4].replace(chr(34), chr(34) * 2)}"\n' for row in rows]
    path.write_bytes(("a,b,c,d,e\n" + "".join(records)).encode())
    drawn = record_sampler.sample(path, 4, to=to, format="csv", header=True)
    assert names(drawn, to) == ["a", "b", "c", "d", "e"] and drawn.shape == (4, 5)
    for number, name in enumerate("abcde"):
        assert values(drawn, name, to) == [row[number] for row in rows]


def test_the_rows_are_the_records_of_a_list(to, table):
    choices = {"seed": 5, "format": "csv", "header": True}
    for choice in [{"n": 40}, {"n": 9, "weight": "w"}, {"n": 30, "shuffle": True}]:
        listed = record_sampler.sample(table, **choices, **choice)
        drawn = record_sampler.sample(table, to=to, **choices, **choice)
        ids = [record.decode().partition(",")[0] for record in listed]
        assert values(drawn, "id", to) == ids
        assert values(drawn, "text", to) == [f"a\n{number}" for number in ids]
    empty = record_sampler.sample(table, 0, to=to, **choices)
    assert empty.shape == (0, 4) and names(empty, to) == ["id", "kind", "w", "text"]


def test_names_are_those_of_the_header_and_each_is_there_once(to, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("w,w,id,w.1\n0,1,a,2\n")
    drawn = record_sampler.sample(path, 1, to=to, format="csv", header=True)
    assert names(drawn, to) == ["w", "w.2", "id", "w.1"]
    assert [values(drawn, name, to) for name in names(drawn, to)] == [["0"], ["1"], ["a"], ["2"]]
    drawn = record_sampler.sample(path, 2, to=to, header=False)
    assert names(drawn, to) == ["column_1", "column_2", "column_3", "column_4"]
    path.write_text("a\tb\n1\t2,3\n")
    drawn = record_sampler.sample(path, 1, to=to, format="tsv", header=True)
    assert values(drawn, "b", to) == ["2,3"]


def test_records_with_other_numbers_of_fields_are_no_table(to, tmp_path):
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(SampleError, match="record 2 of the sample has 1 fields, and not 2"):
        record_sampler.sample(path, 2, to=to, format="csv", header=True)
    assert record_sampler.sample(path, 2, format="csv", header=True) == [b"1,2\n", b"3\n"]


def test_values_of_json_keep_their_types(to, tmp_path):
    path = tmp_path / "values.jsonl"
    path.write_text(
        '{"id": 9007199254740993, "day": "2020-01-01", "n": 1, "text": "1", "is": true}\n'
        '{"id": 2, "n": 1.5, "text": "\\ud83d\\ude00", "is": null, "new": "x"}\n'
    )
    drawn = record_sampler.sample(path, 2, to=to, format="jsonl")
    assert names(drawn, to) == ["id", "day", "n", "text", "is", "new"]
    expected = {
        "id": [9007199254740993, 2], "day": ["2020-01-01", None], "n": [1.0, 1.5],
        "text": ["1", "\U0001f600"], "is": [True, None], "new": [None, "x"],
    }
    assert {name: values(drawn, name, to) for name in names(drawn, to)} == expected


def test_members_of_several_types_are_only_in_pandas(to, tmp_path):
    path = tmp_path / "mixed.jsonl"
    path.write_text('{"k": 1}\n{"k": "1"}\n')
    if to == "pandas":
        assert list(record_sampler.sample(path, 2, to=to, format="jsonl")["k"]) == [1, "1"]
        return
    with pytest.raises(SampleError, match="column k has values of the types int, str"):
        record_sampler.sample(path, 2, to=to, format="jsonl")


def test_json_that_is_no_table_is_refused(to, tmp_path):
    path = tmp_path / "values.jsonl"
    for text, expected in [("[1]\n", "is no object of JSON"), ("{\n", "is not JSON")]:
        path.write_text(text)
        with pytest.raises(SampleError, match=f"record 1 of the sample {expected}"):
            record_sampler.sample(path, 1, to=to, format="jsonl")


def test_types_are_those_that_are_asked_for(to, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("n,x,is,text\n1,1.5,true,007\n2,,False,\n")
    types = {"pandas": {"n": "int64", "x": "float64", "is": "bool"}}
    if to == "polars":
        import polars

        types["polars"] = {"n": int, "x": polars.Float64, "is": polars.Boolean}
    types["arrow"] = {"n": "int64", "x": "double", "is": "bool"}
    drawn = record_sampler.sample(path, 2, to=to, format="csv", header=True, dtypes=types[to])
    expected = {"n": [1, 2], "x": [1.5, None], "is": [True, False], "text": ["007", ""]}
    assert {name: values(drawn, name, to) for name in names(drawn, to)} == expected
    for dtypes, expected in [
        ({"none": "int64"}, "dtypes has 'none', which is no column"),
        ({"text": "bool"}, "'007' is no truth value"),
    ]:
        if to == "polars" and "text" in dtypes:
            dtypes = {"text": bool}
        with pytest.raises(SampleError, match=expected):
            record_sampler.sample(path, 2, to=to, format="csv", header=True, dtypes=dtypes)


def test_pandas_takes_nullable_types_and_one_for_all(tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,\n2,3\n")
    drawn = record_sampler.sample(path, 2, to="pandas", format="csv", header=True, dtypes="Int64")
    assert [str(dtype) for dtype in drawn.dtypes] == ["Int64", "Int64"]
    assert list(drawn["a"]) == [1, 2] and drawn["b"][0] is pandas.NA and drawn["b"][1] == 3
    path.write_text("a\ntrue\n\"\"\n")
    with pytest.raises(SampleError, match="an empty field is no bool"):
        record_sampler.sample(path, 2, to="pandas", format="csv", header=True, dtypes="bool")


def test_rows_of_parquet_keep_their_types(to, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    whole = pyarrow.table({
        "id": pyarrow.array(range(500), pyarrow.uint16()),
        "day": pyarrow.array(range(500), pyarrow.date32()),
        "text": [f"{number:03}" if number % 3 else None for number in range(500)],
        "list": [[number, number + 1] for number in range(500)],
    })
    parquet.write_table(whole, path, row_group_size=100)
    drawn, seed = record_sampler.sample(path, 20, to=to, format="parquet", return_seed=True)
    again = record_sampler.sample(path, 20, seed, to="arrow")
    assert again.schema.equals(whole.schema)
    ids = values(drawn, "id", to)
    assert ids == again["id"].to_pylist() == sorted(set(ids)) and len(ids) == 20
    assert values(drawn, "text", to) == [f"{number:03}" if number % 3 else None for number in ids]
    assert [list(pair) for pair in values(drawn, "list", to)] == [[n, n + 1] for n in ids]
    # The rows are those of the same rows as JSON Lines.
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(f'{{"id": {number}}}\n' for number in range(500)))
    of_lines = record_sampler.sample(lines, 20, seed, to=to, format="jsonl")
    assert values(of_lines, "id", to) == ids


def test_what_parquet_does_not_have_is_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1")

    def refused(expected):
        return pytest.raises(SampleError, match=expected)

    with refused('rows of Parquet are no bytes: give to="pandas", "polars" or "arrow"'):
        record_sampler.sample(path, 1, format="parquet")
    with refused("Parquet has neither a header, a delimiter nor a largest record"):
        record_sampler.sample(path, 1, to="arrow", format="parquet", header=True)
    with refused("rows of Parquet have types"):
        record_sampler.sample(path, 1, to="arrow", format="parquet", dtypes={"a": "int64"})
    with refused("not a sound Parquet file"):
        record_sampler.sample(path, 1, to="arrow", format="parquet")
    with refused("rows of Parquet stay in order"):
        record_sampler.sample(path, 1, to="arrow", format="parquet", shuffle=True)
    with refused("Parquet is read from paths"):
        record_sampler.sample(io.BytesIO(b"PAR1"), 1, to="arrow", format="parquet")
    with refused("rows of Parquet are no bytes"):
        record_sampler.parts(path, format="parquet")


def test_the_seed_is_a_new_one_each_time_and_comes_with_the_result(lines, to):
    path = lines[0]
    drawn, seed = record_sampler.sample(path, 20, to=to, return_seed=True)
    again, same = record_sampler.sample(path, 20, seed, to=to, return_seed=True)
    assert same == seed and values(again, "line", to) == values(drawn, "line", to)
    if to == "pandas":
        assert drawn.attrs["seed"] == seed
        assert record_sampler.sample(path, 1, 7, to=to).attrs["seed"] == 7
    seeds = {record_sampler.sample(path, 1, to=to, return_seed=True)[1] for _ in range(20)}
    assert len(seeds) == 20
