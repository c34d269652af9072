"""Blobs in an S3 elsewhere, played by moto's server."""

import pathlib
import sys

import boto3
import pytest
from botocore.config import Config
from conftest import ROOT

KEYS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
}


@pytest.fixture
def elsewhere(start):
    """The address of an S3 with a bucket, and a client of it."""
    moto = start(pathlib.Path(sys.executable).parent / "moto_server", "-p", "0")
    url = moto.wait_for(r"Running on (http://127\.0\.0\.1:\d+)")[1]
    s3 = boto3.client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        config=Config(signature_version="s3v4"),
    )
    s3.create_bucket(Bucket="blobs")
    return url, s3


def objects(s3):
    return [item["Key"] for item in s3.list_objects_v2(Bucket="blobs").get("Contents", [])]


@pytest.mark.parametrize("by", ["variables", "file"])
def test_artifacts_are_kept_there_and_read_from_there(run, tmp_path, elsewhere, by):
    url, s3 = elsewhere
    env = dict(KEYS)
    if by == "variables":
        env |= {"ARGOSY_BLOB_URL": "s3://blobs/of/argosy", "AWS_ENDPOINT_URL": url}
    else:
        text = f'[blob]\nurl = "s3://blobs/of/argosy"\nendpoint = "{url}"\n'
        (tmp_path / "argosy.toml").write_text(text)
    # Its second and third task read the artifact of its first.
    run("--data", tmp_path / "data", "run", ROOT / "examples/diamond.yaml", env=env)
    keys = objects(s3)
    assert keys and all(key.startswith("of/argosy/default/") for key in keys), keys
    local = tmp_path / "data/blobs"
    assert not local.exists(), list(local.rglob("*"))


def test_what_cannot_be_kept_there_fails_the_step(run, tmp_path, elsewhere):
    url, s3 = elsewhere
    env = KEYS | {"ARGOSY_BLOB_URL": "s3://none", "AWS_ENDPOINT_URL": url}
    run("--data", tmp_path / "data", "run", ROOT / "examples/diamond.yaml", env=env, code=1)
    assert objects(s3) == []


def test_a_store_that_is_none_is_refused_at_once(run, tmp_path):
    manifest = ROOT / "examples/hello.yaml"
    data = tmp_path / "data"
    text = run("--data", data, "run", manifest, env={"ARGOSY_BLOB_URL": "gs://b"}, code=2)
    assert "E0213" in text and "s3://BUCKET" in text
    env = KEYS | {"ARGOSY_BLOB_URL": "s3://b"}
    args = ["up", "--listen", "127.0.0.1:0", "--s3-listen", "127.0.0.1:0"]
    assert "--s3-listen" in run("--data", data, *args, env=env, code=2)
