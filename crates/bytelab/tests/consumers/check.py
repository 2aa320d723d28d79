"""Reads what `bytelab export` wrote with the libraries that its formats are for, and holds it against our own
document of the same run. Exits with 1 if any of them refuses a file, or finds other values in it."""

import csv
import json
import math
import sys
from pathlib import Path

import pandas
import pyarrow.parquet
from hdrh.log import HistogramLogReader
from hdrh.histogram import HdrHistogram
from prometheus_client.openmetrics.parser import text_string_to_metric_families

DIR = Path(sys.argv[1])
TIMING = lambda sample: sample["pass"] == "timing" and not sample["warm_up"] and sample["not_counted"] is None


def wall_ns(cell):
    return [value for sample, value in zip(cell["samples"], cell["values"]["wall_ns"]) if TIMING(sample)]


def measured(document):
    return [cell for cell in document["cells"] if cell["status"] == "measured"]


def check_frame(frame, document):
    cells = measured(document)
    assert len(frame) == 8 * len(cells), len(frame)
    for cell in cells:
        rows = frame[(frame["method"] == cell["method"]) & (frame["pass"] == "timing")]
        assert list(rows["wall_ns"]) == wall_ns(cell), cell["method"]
        for name, value in cell["point"].items():
            # To pandas an empty text is none.
            assert set(rows["param_" + name].astype(object).fillna("")) == {value}, name
    labels = {document["label"]}
    assert set(frame["label"]) == labels, (set(frame["label"]), labels)


def csv_with_pandas(run, document):
    frame = pandas.read_csv(DIR / f"{run}.csv", lineterminator="\n" if run == "small" else None)
    check_frame(frame, document)
    assert frame["wall_ns"].dtype == "float64" and frame["round"].dtype == "int64"


def csv_with_python(run, document):
    with open(DIR / f"{run}.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, strict=True))
    assert {row["label"] for row in rows} == {document["label"]}
    assert {row["method"] for row in rows} == {cell["method"] for cell in measured(document)}


def tsv_with_pandas(run, document):
    frame = pandas.read_csv(
        DIR / f"{run}.tsv", sep="\t", quoting=csv.QUOTE_NONE, lineterminator="\n", keep_default_na=False
    )
    assert len(frame) == 8 * len(measured(document))


def parquet_with_pyarrow(run, document):
    table = pyarrow.parquet.read_table(DIR / f"{run}.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    expected = {"method": "string", "round": "uint64", "wall_ns": "double", "wrong_answer": "bool"}
    assert {name: types[name] for name in expected} == expected, types
    check_frame(table.to_pandas(), document)


def openmetrics_with_prometheus(run, document):
    text = (DIR / f"{run}.openmetrics").read_bytes().decode("utf-8")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    info = families["bytelab_run"].samples[0].labels
    assert info["label"] == document["label"] and info["experiment"] == document["experiment"]
    states = {s.labels["method"]: s.labels for s in families["bytelab_cell"].samples}
    for cell in document["cells"]:
        assert states[cell["method"]]["status"] == cell["status"]
        assert states[cell["method"]]["reason"] == cell.get("reason", "")
    wall = families["bytelab_wall_seconds"]
    assert (wall.type, wall.unit) == ("summary", "seconds")
    for cell in measured(document):
        mine = [s for s in wall.samples if s.labels["method"] == cell["method"]]
        count = [s.value for s in mine if s.name.endswith("_count")]
        total = [s.value for s in mine if s.name.endswith("_sum")]
        assert count == [len(wall_ns(cell))], count
        assert math.isclose(total[0], sum(wall_ns(cell)) / 1e9, rel_tol=1e-12)
        largest = [s.value for s in mine if s.labels.get("quantile") == "1.0"]
        assert math.isclose(largest[0], max(wall_ns(cell)) / 1e9, rel_tol=1e-12)


def log_with_hdrhistogram(run, document):
    reader = HistogramLogReader(str(DIR / f"{run}.hdrhistogram"), HdrHistogram(1, 3_600_000_000_000, 3))
    for cell in measured(document):
        histogram = reader.get_next_interval_histogram()
        assert histogram.get_total_count() == len(wall_ns(cell))
        assert abs(histogram.get_max_value() / max(wall_ns(cell)) - 1) < 0.002
    assert reader.get_next_interval_histogram() is None


def google_benchmark_with_pandas(run, document):
    with open(DIR / f"{run}.google-benchmark", encoding="utf-8") as file:
        frame = pandas.json_normalize(json.load(file)["benchmarks"])
    samples = frame[(frame["run_type"] == "iteration") & (frame["error_occurred"] != True)]
    cells = measured(document)
    # One sample of one method lacks its CPU time.
    assert len(samples) == 6 * len(cells) - 1, len(samples)
    assert len(frame[frame["error_occurred"] == True]) == len(document["cells"]) - len(cells)


def hyperfine_with_its_scripts_fields(run, document):
    with open(DIR / f"{run}.hyperfine", encoding="utf-8") as file:
        results = json.load(file)["results"]
    # As its scripts for plots and tests take them.
    for result, cell in zip(results, measured(document), strict=True):
        assert result["command"] and result["times"] == [ns / 1e9 for ns in wall_ns(cell)]
        assert result["min"] <= result["median"] <= result["max"] and result["stddev"] > 0


READERS = [
    csv_with_pandas,
    csv_with_python,
    tsv_with_pandas,
    parquet_with_pyarrow,
    openmetrics_with_prometheus,
    log_with_hdrhistogram,
    google_benchmark_with_pandas,
    hyperfine_with_its_scripts_fields,
]


def main():
    failed = False
    for run in ["small", "hostile"]:
        document = json.loads((DIR / f"{run}.json").read_text(encoding="utf-8"))
        for read in READERS:
            try:
                read(run, document)
                print(f"ok: {read.__name__} reads {run}")
            except Exception as error:  # Whatever a reader throws is a refusal.
                failed = True
                print(f"FAILED: {read.__name__} on {run}: {type(error).__name__}: {error}")
    sys.exit(failed)


main()
