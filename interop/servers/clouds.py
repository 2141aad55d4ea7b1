"""Google Cloud KMS and Azure Key Vault, as far as one key wraps another: over TLS, with real AES-GCM and RSA-OAEP.

`start(FOLDER)` serves them at one URL, with the certificate of its authority in FOLDER/ca.pem. What the services check,
this checks: tokens, names, key states, ciphertexts, checksums; it answers as they do. Beside them, who gives out tokens:
Entra ID at the same URL, and at a URL with plain http, in FOLDER/metadata-url, the metadata server of Google and the
managed identities of Azure's App Service. FOLDER/service-account.json is an identity of Google.

Keys: `orders` and `people` work, `disabled` is, `throttled` and `broken` fail, others do not exist. Tokens:
`google-token` and `azure-token` may do everything, `google-reader` and `azure-reader` nothing, others are not known.
POST /test/rotate/NAME gives a key of Azure another version.
"""

import base64
import datetime
import ipaddress
import json
import secrets
import ssl
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography import x509
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.x509.oid import NameOID

RING = "projects/lakelock/locations/test/keyRings/ring/cryptoKeys/"
STATES = ["orders", "people", "disabled", "throttled", "broken"]
OAEP = padding.OAEP(mgf=padding.MGF1(hashes.SHA256()), algorithm=hashes.SHA256(), label=None)


class Refusal(Exception):
    """An answer that is none: status, code, message."""


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return str(crc ^ 0xFFFFFFFF)


def unbase64(text, url=False):
    if url:
        return base64.b64decode(text.encode().translate(bytes.maketrans(b"-_", b"+/")) + b"=" * (-len(text) % 4), validate=True)
    return base64.b64decode(text, validate=True)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Google:
    def __init__(self, folder):
        self.keys = {RING + name: AESGCM(secrets.token_bytes(32)) for name in STATES}
        self.account = rsa.generate_private_key(65537, 2048)
        pem = self.account.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        identity = {"type": "service_account", "project_id": "lakelock", "private_key_id": "1", "private_key": pem.decode(),
                    "client_email": "lakelock@lakelock.iam.gserviceaccount.com", "universe_domain": "googleapis.com"}
        (folder / "service-account.json").write_text(json.dumps(identity))

    def refusal(self, status, code, message):
        return Refusal(status, {"error": {"code": status, "status": code, "message": message}})

    def check_token(self, token):
        if token == "google-reader":
            raise self.refusal(403, "PERMISSION_DENIED", "Permission 'cloudkms.cryptoKeyVersions.useToEncrypt' denied.")
        if token != "google-token" and not self.is_of_account(token):
            raise self.refusal(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")

    def is_of_account(self, token):
        """Whether the service account itself made the token."""
        try:
            signed, signature = token.rsplit(".", 1)
            self.account.public_key().verify(unbase64(signature, True), signed.encode(), padding.PKCS1v15(), hashes.SHA256())
            claims = json.loads(unbase64(signed.split(".")[1], True))
            return "cloud-platform" in claims["scope"]
        except (InvalidSignature, ValueError, KeyError):
            return False

    def answer(self, path, body, token):
        self.check_token(token)
        name, method = path.removeprefix("/v1/").rsplit(":", 1)
        if name not in self.keys:
            raise self.refusal(404, "NOT_FOUND", f"CryptoKey {name} not found.")
        state = name.removeprefix(RING)
        if state == "disabled":
            raise self.refusal(400, "FAILED_PRECONDITION", f"{name}/cryptoKeyVersions/1 is not enabled, current state is: DISABLED.")
        if state == "throttled":
            raise self.refusal(429, "RESOURCE_EXHAUSTED", "Quota exceeded.")
        if state == "broken":
            raise self.refusal(500, "INTERNAL", "Internal error encountered.")
        field = {"encrypt": "plaintext", "decrypt": "ciphertext"}[method]
        data = unbase64(body[field])
        is_verified = body.get(field + "Crc32c") == crc32c(data)
        if field + "Crc32c" in body and not is_verified:
            raise self.refusal(400, "INVALID_ARGUMENT", "The checksum in field " + field + "_crc32c did not match.")
        if method == "encrypt":
            nonce = secrets.token_bytes(12)
            sealed = b"\x0a\x24\x00" + nonce + self.keys[name].encrypt(nonce, data, None)
            return {"name": f"{name}/cryptoKeyVersions/1", "ciphertext": base64.b64encode(sealed).decode(),
                    "ciphertextCrc32c": crc32c(sealed), "verifiedPlaintextCrc32c": is_verified, "protectionLevel": "SOFTWARE"}
        try:
            if data[:3] != b"\x0a\x24\x00":
                raise InvalidTag
            opened = self.keys[name].decrypt(data[3:15], data[15:], None)
        except (InvalidTag, ValueError) as error:
            raise self.refusal(400, "INVALID_ARGUMENT", "Decryption failed: the ciphertext is invalid.") from error
        return {"plaintext": base64.b64encode(opened).decode(), "plaintextCrc32c": crc32c(opened), "usedPrimary": True}


class Azure:
    def __init__(self):
        self.keys = {name: {} for name in STATES}
        for name in STATES:
            self.rotate(name)

    def rotate(self, name):
        self.keys[name][secrets.token_hex(16)] = rsa.generate_private_key(65537, 2048)

    def refusal(self, status, code, message, inner=None):
        error = {"code": code, "message": message, **({"innererror": {"code": inner}} if inner else {})}
        return Refusal(status, {"error": error})

    def kid(self, host, name, version):
        return f"https://{host}/keys/{name}/{version}"

    def answer(self, path, query, body, token, host):
        if token == "azure-reader":
            raise self.refusal(403, "Forbidden", "Caller is not authorized to perform action on resource.", "ForbiddenByRbac")
        if token != "azure-token":
            raise self.refusal(401, "Unauthorized", "AKV10000: Request is missing a Bearer or PoP token.")
        if query.get("api-version") != ["7.4"]:
            raise self.refusal(400, "BadParameter", "api-version must be specified")
        name, *rest = path.removeprefix("/keys/").split("/")
        if name not in self.keys:
            raise self.refusal(404, "KeyNotFound", f"A key with (name/id) {name} was not found in this key vault.")
        versions = self.keys[name]
        if rest == ["versions"]:
            listed = [{"kid": self.kid(host, name, version), "attributes": {"enabled": True, "created": created}}
                      for created, version in enumerate(versions)]
            return {"value": listed, "nextLink": None}
        *version, method = rest
        version = version[0] if version else list(versions)[-1]
        if version not in versions:
            raise self.refusal(404, "KeyNotFound", f"A key with (name/id) {name}/{version} was not found in this key vault.")
        if name == "disabled":
            raise self.refusal(403, "Forbidden", f"Operation {method} is not allowed on a disabled key.", "KeyDisabled")
        if name == "throttled":
            raise self.refusal(429, "Throttled", "Request was not processed because too many requests were received.")
        if name == "broken":
            raise self.refusal(500, "InternalServerError", "An unexpected error occurred.")
        if body.get("alg") != "RSA-OAEP-256":
            raise self.refusal(400, "BadParameter", f"Operation {method} is not permitted with algorithm {body.get('alg')}.")
        data = unbase64(body["value"], True)
        try:
            key = versions[version]
            result = key.public_key().encrypt(data, OAEP) if method == "wrapkey" else key.decrypt(data, OAEP)
        except ValueError as error:
            raise self.refusal(400, "BadParameter", "The parameter is incorrect.") from error
        return {"kid": self.kid(host, name, version), "value": base64url(result)}

    def token(self, form):
        """Entra ID: a service principal with its secret, or with a token of another platform."""
        proof = form.get("client_secret", form.get("client_assertion", ["none"]))[0]
        if proof not in ("azure-secret", "azure-assertion") or "vault.azure.net" not in form["scope"][0]:
            description = "AADSTS7000215: Invalid client secret provided."
            raise Refusal(401, {"error": "invalid_client", "error_description": description, "error_codes": [7000215]})
        return {"token_type": "Bearer", "expires_in": 3600, "ext_expires_in": 3600, "access_token": "azure-token"}


def handler(google, azure):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def do_GET(self):
            self.handle_request()

        def do_POST(self):
            self.handle_request()

        def handle_request(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            try:
                status, answer = 200, self.answer(body)
            except Refusal as refusal:
                status, answer = refusal.args
            except (KeyError, ValueError, IndexError) as error:
                status, answer = 400, {"error": {"code": "BadParameter", "status": "INVALID_ARGUMENT", "message": repr(error)}}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def answer(self, body):
            url = urllib.parse.urlsplit(self.path)
            query = urllib.parse.parse_qs(url.query)
            token = (self.headers.get("authorization") or "").removeprefix("Bearer ")
            if url.path.startswith("/v1/projects/"):
                return google.answer(urllib.parse.unquote(url.path), json.loads(body), token)
            if url.path.startswith("/keys/"):
                return azure.answer(url.path, query, json.loads(body or b"{}"), token, self.headers["host"])
            if url.path.startswith("/test/rotate/"):
                return azure.rotate(url.path.removeprefix("/test/rotate/"))
            if url.path.endswith("/oauth2/v2.0/token"):
                return azure.token(urllib.parse.parse_qs(body.decode()))
            if url.path.startswith("/computeMetadata/v1/instance/service-accounts/default/token"):
                assert self.headers["metadata-flavor"] == "Google"
                return {"access_token": "google-token", "expires_in": 3600, "token_type": "Bearer"}
            if url.path == "/msi/token":
                if self.headers.get("x-identity-header") != "azure-identity":
                    raise Refusal(400, {"error": "no identity"})
                end = int(datetime.datetime.now().timestamp()) + 3600
                return {"access_token": "azure-token", "expires_on": str(end), "resource": query["resource"][0], "token_type": "Bearer"}
            raise Refusal(404, {"error": {"code": "NotFound", "status": "NOT_FOUND", "message": self.path}})

    return Handler


def certificates(folder):
    """An authority, and a certificate of it for this machine."""
    now = datetime.datetime.now(datetime.timezone.utc)

    def certificate(name, public, issuer, issuer_key, is_authority):
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(issuer).public_key(public)
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
        builder = builder.not_valid_after(now + datetime.timedelta(days=30))
        builder = builder.add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        if not is_authority:
            names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(issuer_key, hashes.SHA256())

    def named(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = certificate(named("test authority"), authority_key.public_key(), named("test authority"), authority_key, True)
    server = certificate(named("localhost"), key.public_key(), authority.subject, authority_key, False)
    (folder / "ca.pem").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.pem").write_bytes(private + server.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context


def start(folder):
    """Serves in threads of this process, and returns the URL."""
    context = certificates(folder)
    handle = handler(Google(folder), Azure())
    metadata = ThreadingHTTPServer(("127.0.0.1", 0), handle)
    services = ThreadingHTTPServer(("127.0.0.1", 0), handle)
    # A handshake in the thread of its connection: one that hangs holds up no other.
    services.socket = context.wrap_socket(services.socket, server_side=True, do_handshake_on_connect=False)
    for server in (metadata, services):
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
    (folder / "metadata-url").write_text(f"http://127.0.0.1:{metadata.server_address[1]}")
    return f"https://127.0.0.1:{services.server_address[1]}"
