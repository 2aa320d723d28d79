"""Records as tables of other libraries, which are imported only if they are wanted.

A row is a record of the sampler. Its fields are found in the record alone, and stay text unless a
type is asked for; values of JSON have the types of JSON.
"""

import io
import json
from collections.abc import Mapping

from ._native import SampleError, fields

_RESULTS = ("list", "pandas", "polars", "arrow")
_TABLES = ("lines", "csv", "tsv", "jsonl", "parquet")
# Whole numbers up to this one are floating point numbers, too.
_MOST_EXACT = 1 << 53


def check(to, format, dtypes):
    """Fails, before anything is read, if there is no such result."""
    if to not in _RESULTS:
        raise SampleError(f"unknown result {to!r}, allowed is {', '.join(_RESULTS)}")
    if to == "list" and format == "parquet":
        raise SampleError('rows of Parquet are no bytes: give to="pandas", "polars" or "arrow"')
    if to == "list" and dtypes is not None:
        raise SampleError("dtypes are for tables, and a list has bytes")
    if to != "list" and format is not None:
        _check_format(format)
    if format == "parquet" and dtypes is not None:
        raise SampleError("rows of Parquet have types: dtypes are for text and JSON")


def _check_format(format):
    if format not in _TABLES:
        tables = ", ".join(_TABLES)
        raise SampleError(f"records of {format} are no table, but a list; a table is of {tables}")


def frame(format, delimiter, header, records, to, encoding="utf-8", dtypes=None):
    """The records as what `to` names. `delimiter` is that of CSV."""
    if to == "list":
        return records
    _check_format(format)
    if format == "jsonl":
        columns = _members(records)
    else:
        columns = _fields(delimiter, header, records, encoding)
    types = _types(columns, dtypes)
    return {"pandas": _pandas, "polars": _polars, "arrow": _arrow}[to](columns, types, len(records))


def rows(parquet, to):
    """The table of a Parquet file."""
    file = io.BytesIO(parquet)
    if to == "pandas":
        import pandas

        return pandas.read_parquet(file)
    if to == "polars":
        import polars

        return polars.read_parquet(file)
    from pyarrow import parquet as reader

    return reader.read_table(file)


def with_seed(result, to, seed, return_seed):
    """The result with its seed, where it has a place for it, or beside it."""
    if to == "pandas":
        result.attrs["seed"] = seed
    return (result, seed) if return_seed else result


def _fields(delimiter, header, records, encoding):
    """The columns of records with fields: lists of text, or of bytes if there is no encoding."""
    rows = fields(records, delimiter)
    if delimiter is None:
        names = ["line"]
    elif header:
        [names] = fields([header], delimiter)
        names = _unique([_text(name, encoding or "utf-8") for name in names])
    else:
        names = [f"column_{number}" for number, _ in enumerate(rows[0] if rows else [], 1)]
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise SampleError(
                f"record {number} of the sample has {len(row)} fields, and not {len(names)}: "
                f'to="list" gives records as they are'
            )
    columns = {name: [] for name in names}
    for row in rows:
        for values, field in zip(columns.values(), row):
            values.append(field if encoding is None else _text(field, encoding))
    return columns


def _text(field, encoding):
    try:
        return field.decode(encoding)
    except UnicodeDecodeError as error:
        raise SampleError(
            f"{field[:60]!r} is not {encoding}: give another encoding, or None for bytes"
        ) from error


def _unique(names):
    """The names, of which a repeated one has a number behind it: w, w.1."""
    unique = []
    for name in names:
        own, number = name, 0
        while own in unique or number and own in names:
            number += 1
            own = f"{name}.{number}"
        unique.append(own)
    return unique


def _members(records):
    """The columns of objects of JSON, with None for what is not there."""
    rows = []
    for number, record in enumerate(records, 1):
        try:
            row = json.loads(record)
        except ValueError as error:
            raise SampleError(f"record {number} of the sample is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise SampleError(f"record {number} of the sample is no object of JSON, but a value")
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _numbers([row.get(name) for row in rows]) for name in names}


def _numbers(values):
    """Whole numbers among others as floating point numbers, unless one would change."""
    if _kinds(values) != {int, float}:
        return values
    is_exact = all(abs(value) <= _MOST_EXACT for value in values if type(value) is int)
    if not is_exact:
        return values
    return [float(value) if type(value) is int else value for value in values]


def _kinds(values):
    """The types of the values that are there."""
    return {type(value) for value in values if value is not None}


def _types(columns, dtypes):
    """The type that is asked for of each column, or None."""
    if dtypes is None:
        return {}
    if not isinstance(dtypes, Mapping):
        return dict.fromkeys(columns, dtypes)
    for name in dtypes:
        if name not in columns:
            raise SampleError(f"dtypes has {name!r}, which is no column")
    return dtypes


def _present(values):
    """The values with None for empty fields."""
    return [None if value in ("", b"") else value for value in values]


def _truths(values):
    """Truth values of text: other libraries would take each text that is not empty for true."""
    known = {"true": True, "false": False, "1": True, "0": False}
    truths = []
    for value in _present(values):
        truth = value if value is None or isinstance(value, bool) else known.get(str(value).lower())
        if truth is None and value is not None:
            raise SampleError(f"{value!r} is no truth value: those are true, false, 1 and 0")
        truths.append(truth)
    return truths


def _pandas(columns, types, count):
    import pandas

    data = {name: _pandas_series(values, types.get(name)) for name, values in columns.items()}
    return pandas.DataFrame(data, index=pandas.RangeIndex(count))


def _pandas_series(values, dtype):
    import pandas

    kind = pandas.api.types
    if dtype is not None:
        dtype = kind.pandas_dtype(dtype)
        if kind.is_bool_dtype(dtype):
            values = _truths(values)
            if dtype == bool and None in values:
                raise SampleError('an empty field is no bool: ask for "boolean"')
        elif kind.is_numeric_dtype(dtype) or kind.is_datetime64_any_dtype(dtype):
            values = _present(values)
        return pandas.Series(values, dtype=object).astype(dtype)
    kinds, has_missing = _kinds(values), None in values
    if kinds == {int} and has_missing:
        try:
            return pandas.Series(values, dtype="Int64")
        except OverflowError:
            return pandas.Series(values, dtype=object)
    if kinds == {bool} and has_missing:
        return pandas.Series(values, dtype="boolean")
    if kinds == {float}:
        return pandas.Series(values, dtype=float)
    is_plain = kinds in ({str}, {int}, {bool})
    return pandas.Series(values, dtype=None if is_plain else object)


def _of_one_kind(name, values):
    """Fails if the values have types that no column of a typed table can have together."""
    kinds = sorted(kind.__name__ for kind in _kinds(values))
    if len(kinds) > 1:
        raise SampleError(
            f'column {name} has values of the types {", ".join(kinds)}: to="pandas" keeps them'
        )


def _polars(columns, types, _):
    import polars

    return polars.DataFrame(
        [_polars_series(name, values, types.get(name)) for name, values in columns.items()]
    )


def _polars_series(name, values, dtype):
    import polars

    _of_one_kind(name, values)
    if dtype is not None:
        wanted = polars.Series([], dtype=dtype).dtype
        if wanted == polars.Boolean:
            return polars.Series(name, _truths(values), dtype=wanted)
        if wanted.is_numeric() or wanted.is_temporal():
            values = _present(values)
    series = polars.Series(name, values, dtype=None if _kinds(values) else polars.String)
    return series if dtype is None else series.cast(wanted)


def _arrow(columns, types, _):
    import pyarrow

    arrays = [_arrow_array(name, values, types.get(name)) for name, values in columns.items()]
    return pyarrow.Table.from_arrays(arrays, names=list(columns))


def _arrow_array(name, values, dtype):
    import pyarrow

    _of_one_kind(name, values)
    if dtype is not None:
        kind = pyarrow.types
        dtype = pyarrow.type_for_alias(dtype) if isinstance(dtype, str) else dtype
        if kind.is_boolean(dtype):
            return pyarrow.array(_truths(values), dtype)
        is_number = kind.is_integer(dtype) or kind.is_floating(dtype) or kind.is_decimal(dtype)
        if is_number or kind.is_temporal(dtype):
            values = _present(values)
    array = pyarrow.array(values) if _kinds(values) else pyarrow.array(values, pyarrow.string())
    return array if dtype is None else array.cast(dtype)
