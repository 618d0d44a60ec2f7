"""Run a local TLS server whose certificate is signed by a private authority."""

import ssl
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


class PrivateServer(HTTPServer):
    """Returns 501 for every request. `paths` lists the requested paths; `certificate` is the authority's file."""

    def __init__(self, certificate, secret):
        super().__init__(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, secret)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.address, self.certificate, self.paths = f"https://127.0.0.1:{self.server_port}", str(certificate), []


class _Handler(BaseHTTPRequestHandler):
    def log_request(self, *_):
        self.server.paths.append(self.path)

    def log_error(self, *_):
        pass


@contextmanager
def private_server(folder):
    """Run a PrivateServer that stores its certificate and key in a folder."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "services.internal")])
    created = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate, secret = folder / "ca.pem", folder / "key.pem"
    certificate.write_bytes(created.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    server = PrivateServer(certificate, secret)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
