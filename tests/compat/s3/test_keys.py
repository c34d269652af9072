"""boto3, unmodified and not configured, from inside a step."""

import json
import os
import signal
import socket
import sys

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

TRIES_ONCE = Config(retries={"total_max_attempts": 1})


def manifest(tmp_path, name, code):
    """A manifest whose one step runs Python code with this test's packages."""
    path = tmp_path / f"{name}.yaml"
    template = {
        "name": "main",
        "container": {"image": "host", "command": [sys.executable, "-c", code]},
    }
    document = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": name},
        "spec": {"entrypoint": "main", "templates": [template]},
    }
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def server(start, argosy, tmp_path):
    """Starts servers on one data directory, all at the same two addresses."""
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1], two.getsockname()[1]]
    listen = ["--listen", f"127.0.0.1:{ports[0]}", "--s3-listen", f"127.0.0.1:{ports[1]}"]

    # The packages of these tests may lie below /tmp, where a step with its own would miss them.
    listen += ["--isolation", "none"]

    def server():
        program = start(argosy, "--data", tmp_path / "data", "up", *listen)
        told = program.wait_for(r"AWS_ENDPOINT_URL=(\S+)")
        program.wait_for("AWS_SECRET_ACCESS_KEY is in")
        return program, told[1]

    return server


def admin(tmp_path, url):
    keys = json.loads((tmp_path / "data/s3-credentials.json").read_text())
    return with_keys(url, keys["AWS_ACCESS_KEY_ID"], keys["AWS_SECRET_ACCESS_KEY"])


def with_keys(url, access_key, secret):
    return boto3.client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=access_key,
        aws_secret_access_key=secret,
        config=TRIES_ONCE,
    )


def code_of(error):
    return error.value.response["Error"]["Code"]


# Gives its pair away for the tests to see what it is worth afterwards.
STEP = """
import boto3, os
from botocore.exceptions import ClientError
s3 = boto3.client("s3")
s3.put_object(Bucket="default", Key="mine/a", Body=b"from the step")
assert s3.get_object(Bucket="default", Key="mine/a")["Body"].read() == b"from the step"
s3.create_multipart_upload(Bucket="default", Key="mine/big")
for call in [
    lambda: s3.get_object(Bucket="other", Key="secret"),
    lambda: s3.put_object(Bucket="other", Key="secret", Body=b"spoiled"),
    lambda: s3.list_objects_v2(Bucket="other"),
    lambda: s3.list_buckets(),
]:
    try:
        call()
    except ClientError as error:
        assert error.response["Error"]["Code"] == "AccessDenied", error
    else:
        raise AssertionError("it was not refused")
pair = os.environ["AWS_ACCESS_KEY_ID"] + " " + os.environ["AWS_SECRET_ACCESS_KEY"]
s3.put_object(Bucket="default", Key="mine/pair", Body=pair.encode())
"""


def test_a_step_reaches_its_own_space_until_its_end(server, run, tmp_path):
    _, url = server()
    owner = admin(tmp_path, url)
    owner.create_bucket(Bucket="other")
    owner.put_object(Bucket="other", Key="secret", Body=b"untouched")
    data = tmp_path / "data"
    told = run("--data", data, "submit", "--wait", "--log", manifest(tmp_path, "keys", STEP))
    assert owner.get_object(Bucket="default", Key="mine/a")["Body"].read() == b"from the step"
    assert owner.get_object(Bucket="other", Key="secret")["Body"].read() == b"untouched"
    pair = owner.get_object(Bucket="default", Key="mine/pair")["Body"].read().decode()
    access_key, secret = pair.split()
    with pytest.raises(ClientError) as error:
        with_keys(url, access_key, secret).get_object(Bucket="default", Key="mine/a")
    assert code_of(error) == "InvalidAccessKeyId"
    assert "Uploads" not in owner.list_multipart_uploads(Bucket="default")
    # Nothing tells the secret but the object that the step has made of it.
    told += run("--data", data, "get", "-o", "json", "keys")
    told += run("--data", data, "logs", "keys")
    assert secret not in told
    owner.delete_object(Bucket="default", Key="mine/pair")
    files = [path for path in data.rglob("*") if path.is_file() and not path.is_symlink()]
    assert files
    for path in files:
        assert secret.encode() not in path.read_bytes(), path


WAITS = """
import boto3, time
from botocore.exceptions import ConnectionError, HTTPClientError
s3 = boto3.client("s3")
s3.put_object(Bucket="default", Key="before", Body=b"")
found = False
while not found:
    try:
        found = s3.list_objects_v2(Bucket="default", Prefix="gate")["KeyCount"]
    except (HTTPClientError, ConnectionError):
        # The server is away. Any other refusal ends the step.
        time.sleep(0.05)
s3.put_object(Bucket="default", Key="after", Body=b"")
"""


def test_the_keys_of_a_running_step_outlive_the_server(server, run, tmp_path):
    first, url = server()
    data = tmp_path / "data"
    run("--data", data, "submit", manifest(tmp_path, "waits", WAITS))
    owner = admin(tmp_path, url)
    owner.get_waiter("object_exists").wait(
        Bucket="default", Key="before", WaiterConfig={"Delay": 1}
    )
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait()
    server()
    owner.put_object(Bucket="default", Key="gate", Body=b"")
    run("--data", data, "wait", "waits")
    assert owner.head_object(Bucket="default", Key="after")["ContentLength"] == 0
