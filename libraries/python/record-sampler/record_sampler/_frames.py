"""Records as tables of other libraries, which are imported only if they are wanted."""

import io

from ._native import SampleError


def frame(text, to, format, header, delimiter):
    """The table of a sample that is text."""
    make = {"pandas": _pandas, "polars": _polars, "arrow": _arrow}.get(to)
    if make is None:
        raise SampleError(f"unknown result {to!r}, allowed is list, pandas, polars, arrow")
    if format.startswith("fixed:"):
        raise SampleError("records of a fixed size are no table: only a list of them is possible")
    if format not in ("lines", "csv", "tsv", "jsonl"):
        raise SampleError(f"records of {format} are no table: only a list of them is possible")
    return make(text, delimiter, format, header)


def _lines(text, header):
    lines = text.decode().splitlines()
    return {"line": lines[1:] if header else lines}


def _pandas(text, separator, format, header):
    import pandas

    if separator:
        return pandas.read_csv(io.BytesIO(text), sep=separator, header=0 if header else None)
    if format == "jsonl":
        return pandas.read_json(io.BytesIO(text), lines=True)
    return pandas.DataFrame(_lines(text, header))


def _polars(text, separator, format, header):
    import polars

    if separator:
        return polars.read_csv(text, separator=separator, has_header=header)
    if format == "jsonl":
        return polars.read_ndjson(text)
    return polars.DataFrame(_lines(text, header))


def _arrow(text, separator, format, header):
    import pyarrow
    from pyarrow import csv, json

    if separator:
        parsing = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
        reading = csv.ReadOptions(autogenerate_column_names=not header)
        return csv.read_csv(io.BytesIO(text), read_options=reading, parse_options=parsing)
    if format == "jsonl":
        return json.read_json(io.BytesIO(text))
    return pyarrow.table(_lines(text, header))
