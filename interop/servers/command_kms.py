"""A KMS as a program: the other side of `kms.command`, for tests. See docs/guide/kms.md for the protocol.

    command_kms.py KEYS     with the master keys in a JSON file, {"ID": "HEX"}

Key ids of the form `fails:HOW` make it fail.
"""

import base64
import json
import os
import secrets
import signal
import sys

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM


# "a key for tests!"
KEY = "YSBrZXkgZm9yIHRlc3RzIQ=="


def refuse(kind, message):
    print(json.dumps({"error": {"kind": kind, "message": message}}))
    sys.exit(1)


def wrap(master, key):
    nonce = secrets.token_bytes(12)
    return base64.b64encode(nonce + AESGCM(master).encrypt(nonce, key, None)).decode()


def unwrap(master, wrapped):
    try:
        return AESGCM(master).decrypt(wrapped[:12], wrapped[12:], None)
    except (InvalidTag, ValueError):
        refuse("wrong-key", "the wrapped key does not open")


def fail(how, request):
    if how.startswith("kind-"):
        refuse(how.removeprefix("kind-"), "as\nwanted")
    if how == "hangs":
        signal.pause()
    if how == "floods":
        while True:
            print("x" * 65536)
    if how == "crashes":
        raise RuntimeError("the HSM is on fire")
    if how == "shows-the-key":
        sys.exit("cannot wrap " + request.get("key", ""))
    if how == "shows-the-cut-key":
        # What is kept, 4 KiB, begins in the middle of the key.
        sys.exit("x" * 200 + " " + request.get("key", "") + " " + "y" * (4096 - 20))
    if how == "shows-the-key-in-an-error":
        refuse("denied", "cannot parse " + request.get("key", ""))
    if how == "answers-and-fails":
        # As a shell with `set -x` does.
        print(json.dumps({"key": KEY, "wrapped": KEY}))
        sys.exit("+ echo " + KEY)
    answers = {
        "says-nothing": "",
        "says-no-json": "the key is " + request.get("key", ""),
        "says-two-things": '{"key":"MDEyMzQ1Njc4OWFiY2RlZg==","wrapped":"MDEy"} {}',
        "says-half": '{"key":"MDEyMzQ1Njc4OWFi',
        "says-bad-base64": '{"key":"MDEy!","wrapped":"MDEy!"}',
        "says-a-short-key": '{"key":"MDEy","wrapped":""}',
        "says-an-error-and-more": '{"key":"MDEyMzQ1Njc4OWFiY2RlZg==","wrapped":"MDEy","error":{"kind":"denied"}}',
        "lacks-the-answer": '{"result":"MDEyMzQ1Njc4OWFiY2RlZg=="}',
    }
    print(answers[how], end="")
    sys.exit(0)


def main():
    # More than a pipe holds, before anything is read: whoever runs this must not wait for it to read.
    sys.stderr.write("starting\n" * 20000)
    request = json.load(sys.stdin)
    assert request["version"] == 1
    key_id = request["key-id"]
    if key_id.startswith("fails:"):
        fail(key_id.removeprefix("fails:"), request)
    with open(sys.argv[1], encoding="utf-8") as file:
        keys = json.load(file)
    if key_id not in keys:
        refuse("not-found", f"no key {key_id}")
    master = bytes.fromhex(keys[key_id])
    if request["operation"] == "wrap":
        answer = {"wrapped": wrap(master, base64.b64decode(request["key"], validate=True))}
    elif request["operation"] == "unwrap":
        opened = unwrap(master, base64.b64decode(request["wrapped"], validate=True))
        answer = {"key": base64.b64encode(opened).decode()}
    elif request["operation"] == "generate" and not os.environ.get("COMMAND_KMS_GENERATES_NOT"):
        key = secrets.token_bytes(request["length"])
        answer = {"key": base64.b64encode(key).decode(), "wrapped": wrap(master, key)}
    else:
        refuse("unsupported", request["operation"])
    json.dump(answer, sys.stdout)


main()
