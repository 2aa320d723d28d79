"""Objects of a bucket, by moto: the program and fsspec draw of them what they draw of files."""

import pytest

import record_sampler

s3fs = pytest.importorskip("s3fs")
moto = pytest.importorskip("moto.server")

# More than a page of a list has.
OBJECTS = 1050
VARIABLES = {
    "AWS_ACCESS_KEY_ID": "lab",
    "AWS_SECRET_ACCESS_KEY": "lab",
    "AWS_DEFAULT_REGION": "us-east-1",
}


def names():
    others = ["a b+\u00e9&<>.csv", "deep/0.csv", "deep/deeper/1.csv", "none.txt"]
    return [f"{number:04}.csv" for number in range(OBJECTS)] + others


@pytest.fixture(scope="module")
def bodies():
    return {name: f"object,line\n{name},1\n{name},2\n".encode() for name in names()}


@pytest.fixture(scope="module")
def endpoint(bodies):
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"key": "lab", "secret": "lab", "endpoint_url": f"http://{host}:{port}"}
    filesystem = s3fs.S3FileSystem(**keys, skip_instance_cache=True)
    filesystem.mkdir("lab")
    filesystem.pipe({f"lab/{name}": body for name, body in bodies.items()})
    yield keys["endpoint_url"]
    server.stop()


@pytest.fixture
def bucket(endpoint, monkeypatch):
    """The file system, and the program with the variables of the bucket."""
    for name, value in {**VARIABLES, "AWS_ENDPOINT_URL": endpoint}.items():
        monkeypatch.setenv(name, value)
    return s3fs.S3FileSystem(endpoint_url=endpoint, skip_instance_cache=True)


def test_a_pattern_of_objects_is_sampled_as_files_are(bucket, bodies, bytelab, tmp_path):
    paths = []
    for name in sorted(name for name in bodies if name.endswith(".csv") and "/" not in name):
        paths.append(tmp_path / name)
        paths[-1].write_bytes(bodies[name])
    draw = ["--mergeable", "-n", 40, "--seed", 7]
    expected = bytelab(*draw, *paths)
    assert bytelab(*draw, "s3://lab/*.csv") == expected
    drawn = record_sampler.sample("lab/*.csv", 40, 7, mergeable=True, filesystem=bucket)
    assert b"object,line\n" + b"".join(drawn) == expected


def test_every_key_is_read(bucket, bodies, bytelab):
    for name in ["a b+\u00e9&<>.csv", "deep/deeper/1.csv", "none.txt"]:
        drawn = bytelab("-p", 1, "-f", "lines", f"s3://lab/{name}")
        assert drawn == bodies[name], name
    drawn = bytelab("-p", 1, "s3://lab/deep/**")
    header = b"object,line\n"
    rows = [bodies[name].removeprefix(header) for name in ["deep/0.csv", "deep/deeper/1.csv"]]
    assert drawn == header + b"".join(rows)
