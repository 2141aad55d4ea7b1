"""Servers that speak S3, for lakes in buckets."""

import contextlib
import pathlib
import subprocess

SERVERS = pathlib.Path(__file__).parents[2] / "interop" / "servers"


@contextlib.contextmanager
def s3(folder, server="seaweedfs"):
    """The URL of a server that speaks S3, SeaweedFS or moto, and has the bucket `lake`."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([SERVERS / "run.sh", server, folder], **pipes) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def secret(url, more=""):
    """The statement by which DuckDB reaches the server."""
    return f"""CREATE SECRET (TYPE s3, KEY_ID 'lakelock', SECRET 'lakelock-secret', REGION 'us-east-1',
        ENDPOINT '{url.removeprefix("http://")}', URL_STYLE 'path', USE_SSL false{more})"""


def administer(url, script):
    """Runs Python with `s3`, the client of AWS, which the servers' own environment has."""
    servers = subprocess.run([SERVERS / "setup.sh"], capture_output=True, text=True, check=True).stdout.strip()
    before = f"""
import boto3
from botocore.config import Config
s3 = boto3.client("s3", endpoint_url={url!r}, region_name="us-east-1", aws_access_key_id="lakelock",
    aws_secret_access_key="lakelock-secret", config=Config(s3={{"addressing_style": "path"}}))
"""
    subprocess.run([f"{servers}/venv/bin/python", "-c", before + script], check=True)
