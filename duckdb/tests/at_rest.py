"""Lakes that the bucket encrypts: what DuckDB and the catalog write comes under the key, and `check` sees what does not."""

import json
import os
import subprocess

from lakes import connect
from servers import administer, running, secret

KEY = "1234abcd-12ab-34cd-56ef-1234567890ab"
OTHER_KEY = "99999999-12ab-34cd-56ef-1234567890ab"
DEFAULT = """
s3.put_bucket_encryption(Bucket="lake", ServerSideEncryptionConfiguration={"Rules": [
    {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "%s"}}]})
"""


def check(url, *options, code):
    """What `lakelock ducklake check` finds: problems by location."""
    settings = {
        "s3.endpoint": url,
        "s3.path-style-access": "true",
        "s3.access-key-id": "lakelock",
        "s3.secret-access-key": "lakelock-secret",
    }
    sets = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    command = [os.environ["LAKELOCK"], *sets, "--output", "json", "ducklake", "check", "s3://lake/catalog", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done
    assert "lakelock-secret" not in done.stdout + done.stderr, done
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["file"]: row["problem"] for row in rows}


def test_a_lake_is_under_the_key_of_its_bucket(folder):
    for server in ("moto", "seaweedfs"):
        with running(server, folder / server) as url:
            connection = connect()
            connection.execute(secret(url, f", KMS_KEY_ID '{KEY}'"))
            connection.execute(
                f"""ATTACH 'ducklake:lakelock:s3://lake/catalog' AS lake (DATA_PATH 's3://lake/data/', ENCRYPTED,
                META_S3_SSE_TYPE 'kms', META_S3_SSE_KEY '{KEY}', META_S3_SSE_BUCKET_KEY_ENABLED true)"""
            )
            connection.execute("CREATE TABLE lake.t AS SELECT i FROM range(1000) r(i)")
            connection.execute("DELETE FROM lake.t WHERE i % 2 = 0")
            connection.close()

            # All objects are under the key; the bucket itself is not set up yet.
            problems = check(url, "--at-rest", "--kms-key", KEY, code=3)
            assert list(problems) == ["s3://lake/"], problems
            administer(url, DEFAULT % KEY)
            for options in (["--kms-key", KEY], []):
                assert check(url, "--at-rest", *options, code=0) == {}

            administer(
                url,
                f"""
s3.put_object(Bucket="lake", Key="data/plain", Body=b"1", ServerSideEncryption="AES256")
s3.put_object(Bucket="lake", Key="catalog/other", Body=b"1", ServerSideEncryption="aws:kms", SSEKMSKeyId="{OTHER_KEY}")
""",
            )
            problems = check(url, "--at-rest", code=3)
            assert set(problems) == {"s3://lake/data/plain", "s3://lake/catalog/other"}, problems
            assert "AES256" in problems["s3://lake/data/plain"], problems
            assert OTHER_KEY in problems["s3://lake/catalog/other"], problems
            # Nothing is under another key.
            problems = check(url, "--at-rest", "--kms-key", "arn:aws:kms:us-east-1:1:key/none", code=3)
            assert "s3://lake/" in problems and len(problems) > 5, problems
