"""The recipe for Spark: two executor threads, whose work is done by Python processes."""

import os
import shutil
import sys

import pytest

import record_sampler

pyspark = pytest.importorskip("pyspark")
if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
    pytest.skip("Spark needs Java", allow_module_level=True)


@pytest.fixture(scope="module")
def context():
    configuration = pyspark.SparkConf().setMaster("local[2]").set("spark.ui.enabled", "false")
    configuration.set("spark.executorEnv.PYTHONPATH", os.pathsep.join(sys.path))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    context = pyspark.SparkContext(conf=configuration)
    yield context
    context.stop()


@pytest.mark.parametrize("part_bytes", [1000, 7777, 20_000, 1 << 30])
def test_sketches_are_merged_in_a_tree(context, lines, part_bytes, bytelab):
    parts = record_sampler.parts(lines, part_bytes)
    sketches = context.parallelize(parts, len(parts)).map(
        lambda part: record_sampler.sketch(part, 100, 7))
    merged = sketches.treeReduce(lambda one, other: one.merge(other))
    assert merged.text() == bytelab(*lines, "-n", 100, "--seed", 7, "--mergeable")
