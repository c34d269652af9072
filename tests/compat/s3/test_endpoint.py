"""boto3, unmodified, against `argosy up --s3-listen`."""

import base64
import hashlib
import io
import json
import os
import stat
import tarfile
import urllib.error
import urllib.request

import boto3
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError
from conftest import ROOT

MIB = 1 << 20


def up(start, argosy, data):
    """Starts a server: its S3 address and credentials, as its block tells them."""
    server = start(
        argosy, "--data", data, "up", "--listen", "127.0.0.1:0", "--s3-listen", "127.0.0.1:0"
    )
    told = server.wait_for(r"AWS_ENDPOINT_URL=(\S+) AWS_REGION=\S+ AWS_ACCESS_KEY_ID=(\S+)")
    path = server.wait_for(r"AWS_SECRET_ACCESS_KEY is in (\S+)")[1]
    with open(path) as file:
        keys = json.load(file)
    assert keys["AWS_ACCESS_KEY_ID"] == told[2]
    return server, told[1], keys, path


def client(url, keys, **config):
    return boto3.client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
        config=Config(signature_version="s3v4", retries={"total_max_attempts": 1}, **config),
    )


@pytest.fixture
def s3(start, argosy, tmp_path):
    _, url, keys, _ = up(start, argosy, tmp_path / "data")
    return client(url, keys)


def refused(status, code):
    """A context in which a call is refused so."""

    class Refused:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, _):
            assert isinstance(error, ClientError), f"not refused: {error!r}"
            self.told = told = error.response
            assert told["ResponseMetadata"]["HTTPStatusCode"] == status, error
            assert told["Error"]["Code"] == code, error
            return True

    return Refused()


def test_the_secret_is_for_its_owner_and_is_not_printed(start, argosy, tmp_path):
    server, _, keys, path = up(start, argosy, tmp_path / "data")
    server.stop()
    text = "".join(line for line in server.lines if line)
    assert keys["AWS_SECRET_ACCESS_KEY"] not in text
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_objects_survive_a_restart(start, argosy, tmp_path):
    server, url, keys, _ = up(start, argosy, tmp_path / "data")
    client(url, keys).put_object(Bucket="default", Key="k", Body=b"kept")
    server.stop()
    _, url, again, _ = up(start, argosy, tmp_path / "data")
    assert again == keys
    assert client(url, keys).get_object(Bucket="default", Key="k")["Body"].read() == b"kept"


def test_an_object_with_metadata_comes_and_goes(s3):
    put = s3.put_object(
        Bucket="default",
        Key="a/é b+c%.txt",
        Body=b"hello",
        ContentType="text/plain",
        CacheControl="no-store",
        Metadata={"owner": "ann"},
    )
    etag = '"%s"' % hashlib.md5(b"hello").hexdigest()
    assert put["ETag"] == etag
    got = s3.get_object(Bucket="default", Key="a/é b+c%.txt")
    assert got["Body"].read() == b"hello"
    head = s3.head_object(Bucket="default", Key="a/é b+c%.txt")
    for told in (got, head):
        assert told["ETag"] == etag
        assert told["ContentLength"] == 5
        assert told["ContentType"] == "text/plain"
        assert told["CacheControl"] == "no-store"
        assert told["Metadata"] == {"owner": "ann"}
    part = s3.get_object(Bucket="default", Key="a/é b+c%.txt", Range="bytes=1-3")
    assert (part["Body"].read(), part["ContentRange"]) == (b"ell", "bytes 1-3/5")
    with refused(416, "InvalidRange") as beyond:
        s3.get_object(Bucket="default", Key="a/é b+c%.txt", Range="bytes=5-")
    assert beyond.told["ResponseMetadata"]["HTTPHeaders"]["content-range"] == "bytes */5"
    # The header is signed all the same.
    for none in ("bytes=3-1", "bytes=0-1,3-4", "lines=1-2"):
        whole = s3.get_object(Bucket="default", Key="a/é b+c%.txt", Range=none)
        assert (whole["Body"].read(), whole.get("ContentRange")) == (b"hello", None)
    s3.copy_object(Bucket="default", Key="copy", CopySource={"Bucket": "default", "Key": "a/é b+c%.txt"})
    assert s3.get_object(Bucket="default", Key="copy")["Metadata"] == {"owner": "ann"}
    s3.delete_object(Bucket="default", Key="copy")
    with refused(404, "NoSuchKey"):
        s3.get_object(Bucket="default", Key="copy")
    with refused(404, "404"):
        s3.head_object(Bucket="default", Key="copy")


def test_conditions_of_puts_and_gets_hold(s3):
    etag = s3.put_object(Bucket="default", Key="k", Body=b"1", IfNoneMatch="*")["ETag"]
    with refused(412, "PreconditionFailed"):
        s3.put_object(Bucket="default", Key="k", Body=b"2", IfNoneMatch="*")
    s3.put_object(Bucket="default", Key="k", Body=b"3", IfMatch=etag)
    with refused(412, "PreconditionFailed"):
        s3.put_object(Bucket="default", Key="k", Body=b"4", IfMatch=etag)
    with refused(412, "PreconditionFailed"):
        s3.get_object(Bucket="default", Key="k", IfMatch=etag)
    assert s3.get_object(Bucket="default", Key="k")["Body"].read() == b"3"


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA1", "SHA256"])
def test_checksums_are_told_and_bad_ones_refused(s3, algorithm):
    put = s3.put_object(Bucket="default", Key="k", Body=b"hello", ChecksumAlgorithm=algorithm)
    assert put["Checksum" + algorithm]
    wrong = {"Checksum" + algorithm: put["Checksum" + algorithm]}
    with refused(400, "BadDigest"):
        s3.put_object(Bucket="default", Key="k", Body=b"hullo", **wrong)
    md5 = base64.b64encode(hashlib.md5(b"hello").digest()).decode()
    with refused(400, "BadDigest"):
        s3.put_object(Bucket="default", Key="k", Body=b"hullo", ContentMD5=md5)
    assert s3.get_object(Bucket="default", Key="k")["Body"].read() == b"hello"


def test_lists_are_paged_and_rolled_up(s3):
    keys = [f"{folder}/{number:02}" for folder in "abc" for number in range(20)] + ["top", "ü &<"]
    for key in keys:
        s3.put_object(Bucket="default", Key=key, Body=b"")
    for operation in ("list_objects", "list_objects_v2"):
        pages = s3.get_paginator(operation).paginate(
            Bucket="default", PaginationConfig={"PageSize": 7}
        )
        found = [item["Key"] for page in pages for item in page.get("Contents", [])]
        assert found == keys, operation
        pages = s3.get_paginator(operation).paginate(
            Bucket="default", Delimiter="/", PaginationConfig={"PageSize": 2}
        )
        pages = list(pages)
        assert [item["Prefix"] for page in pages for item in page.get("CommonPrefixes", [])] == [
            "a/",
            "b/",
            "c/",
        ], operation
        found = [item["Key"] for page in pages for item in page.get("Contents", [])]
        assert found == ["top", "ü &<"], operation
    some = s3.list_objects_v2(Bucket="default", Prefix="b/", StartAfter="b/17")
    assert [item["Key"] for item in some["Contents"]] == ["b/18", "b/19"]
    gone = s3.delete_objects(
        Bucket="default", Delete={"Objects": [{"Key": key} for key in keys]}
    )
    assert len(gone["Deleted"]) == len(keys) and "Errors" not in gone
    assert s3.list_objects_v2(Bucket="default")["KeyCount"] == 0


def test_large_files_go_up_and_come_down_in_parts(s3, tmp_path):
    body = bytes(range(256)) * (13 * MIB // 256)
    config = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB)
    s3.upload_fileobj(io.BytesIO(body), "default", "big", Config=config)
    head = s3.head_object(Bucket="default", Key="big")
    parts = [hashlib.md5(body[at : at + 5 * MIB]).digest() for at in range(0, len(body), 5 * MIB)]
    assert head["ETag"] == '"%s-3"' % hashlib.md5(b"".join(parts)).hexdigest()
    s3.download_file("default", "big", str(tmp_path / "big"), Config=config)
    assert (tmp_path / "big").read_bytes() == body
    config = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=6 * MIB)
    s3.copy({"Bucket": "default", "Key": "big"}, "default", "copied", Config=config)
    assert s3.get_object(Bucket="default", Key="copied")["Body"].read() == body


def test_uploads_are_shown_and_given_up(s3):
    upload = {"Bucket": "default", "Key": "k"}
    upload["UploadId"] = s3.create_multipart_upload(**upload)["UploadId"]
    s3.upload_part(**upload, PartNumber=3, Body=b"three")
    listed = s3.list_parts(**upload)["Parts"]
    assert [(part["PartNumber"], part["Size"]) for part in listed] == [(3, 5)]
    assert s3.list_multipart_uploads(Bucket="default")["Uploads"][0]["Key"] == "k"
    s3.abort_multipart_upload(**upload)
    with refused(404, "NoSuchUpload"):
        s3.list_parts(**upload)


def test_buckets_come_and_go(s3):
    with refused(404, "404"):
        s3.head_bucket(Bucket="team")
    s3.create_bucket(Bucket="team")
    s3.head_bucket(Bucket="team")
    assert [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]] == ["default", "team"]
    s3.put_object(Bucket="team", Key="k", Body=b"")
    with refused(409, "BucketNotEmpty"):
        s3.delete_bucket(Bucket="team")
    s3.delete_object(Bucket="team", Key="k")
    s3.delete_bucket(Bucket="team")
    with refused(404, "NoSuchBucket"):
        s3.put_object(Bucket="team", Key="k", Body=b"")


def fetch(method, url, body=None, headers=None):
    """A request without any S3 client."""
    request = urllib.request.Request(url, body, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_signed_urls_need_no_keys_and_hold_what_was_signed(s3):
    at = {"Bucket": "default", "Key": "a b/k"}
    put = s3.generate_presigned_url("put_object", at)
    plain = {"Content-Type": "application/octet-stream"}
    assert fetch("PUT", put, b"hello", plain)[0] == 200
    get = s3.generate_presigned_url("get_object", at)
    assert fetch("GET", get) == (200, b"hello")
    assert fetch("GET", get.replace("k?", "other?"))[0] == 403
    assert fetch("DELETE", get)[0] == 403
    md5 = base64.b64encode(hashlib.md5(b"hello").digest()).decode()
    signed = s3.generate_presigned_url("put_object", at | {"ContentMD5": md5})
    told = plain | {"Content-MD5": md5}
    assert fetch("PUT", signed, b"hello", told)[0] == 200
    status, text = fetch("PUT", signed, b"hullo", told)
    assert status == 400 and b"BadDigest" in text
    assert fetch("PUT", signed, b"hello", plain)[0] == 403, "the header that was signed is missing"


def test_wrong_keys_are_refused(start, argosy, tmp_path):
    _, url, keys, _ = up(start, argosy, tmp_path / "data")
    with refused(403, "SignatureDoesNotMatch"):
        client(url, keys | {"AWS_SECRET_ACCESS_KEY": "guessed"}).list_buckets()
    with refused(403, "InvalidAccessKeyId"):
        client(url, keys | {"AWS_ACCESS_KEY_ID": "somebody"}).list_buckets()
    assert fetch("GET", f"{url}/default/k")[0] == 403


def test_artifacts_of_runs_are_objects(start, argosy, run, tmp_path):
    _, url, keys, _ = up(start, argosy, tmp_path / "data")
    run("--data", tmp_path / "data", "submit", "--wait", ROOT / "examples/diamond.yaml")
    s3 = client(url, keys)
    (key,) = [item["Key"] for item in s3.list_objects_v2(Bucket="default")["Contents"]]
    archive = io.BytesIO(s3.get_object(Bucket="default", Key=key)["Body"].read())
    with tarfile.open(fileobj=archive) as archive:
        numbers = archive.extractfile("numbers.txt").read().split()
    assert [int(number) for number in numbers] == [n * n for n in range(1, 11)]


def test_beyond_loopback_is_refused(run, tmp_path):
    text = run("--data", tmp_path / "data", "up", "--s3-listen", "0.0.0.0:0", code=2)
    assert "E0407" in text
