"""Servers for lakes in buckets (moto and SeaweedFS, with the bucket `lake`) and for catalogs in PostgreSQL."""

import contextlib
import pathlib
import subprocess
import urllib.parse

SERVERS = pathlib.Path(__file__).parents[2] / "interop" / "servers"


@contextlib.contextmanager
def running(server, folder):
    """The URL of a server of interop/servers/run.sh, whose files are in a folder."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([SERVERS / "run.sh", server, folder], **pipes) as process:
        try:
            url = process.stdout.readline().strip()
            assert url, f"{server} does not start: its errors are above"
            yield url
        finally:
            process.stdin.close()


@contextlib.contextmanager
def postgres(folder):
    """How DuckDB, and whoever else takes what libpq takes, reaches a new PostgreSQL."""
    with running("postgres", folder) as url:
        address = urllib.parse.urlsplit(url)
        yield f"host={address.hostname} port={address.port} user={address.username} dbname={address.path[1:]}"


def secret(url, more=""):
    """The statement by which DuckDB reaches a server that speaks S3."""
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
