"""A throw-away certificate authority for the integration tests, made with the openssl command."""

import ssl
import subprocess
from pathlib import Path


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Pair:
    """A certificate and its key as PEM files."""

    def __init__(self, certificate, key):
        self.certificate, self.key = Path(certificate), Path(key)

    def config(self):
        """As an element of tls.certificates."""
        return {"certificate": str(self.certificate), "private_key": str(self.key)}


class Ca:
    """Signs server and client certificates; everything lives below `folder` and ends with it."""

    def __init__(self, folder, name="stationmaster test CA"):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file = self.folder / "ca.pem"
        self._key = self.folder / "ca.key"
        self._ec_key(self._key)
        openssl("req", "-x509", "-new", "-key", self._key, "-days", 30, "-subj", f"/CN={name}", "-out", self.file,
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def server(self, name="server", kind="ecdsa", dns=("localhost",), ips=("127.0.0.1", "::1"), days=30):
        """kind: ecdsa (P-256) or rsa, or rsa:4096."""
        san = ",".join([f"DNS:{one}" for one in dns] + [f"IP:{one}" for one in ips])
        return self._issue(f"{name}-{kind.replace(':', '-')}", kind, dns[0], san, "serverAuth", days)

    def client(self, common_name, san="", kind="ecdsa", days=30):
        """san: as "DNS:...,URI:..."; may be empty."""
        return self._issue("client-" + common_name.replace(":", "-").replace("/", "-"), kind, common_name, san, "clientAuth", days)

    def context(self, client=None, check_hostname=True):
        """A client's SSL context that trusts this CA."""
        context = ssl.create_default_context(cafile=str(self.file))
        context.check_hostname = check_hostname
        if client:
            context.load_cert_chain(client.certificate, client.key)
        return context

    @staticmethod
    def _ec_key(path):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)

    def _issue(self, name, kind, common_name, san, usage, days):
        pair = Pair(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        if kind == "ecdsa":
            self._ec_key(pair.key)
        else:
            bits = kind.partition(":")[2] or "2048"
            openssl("genrsa", "-out", pair.key, bits)
        extensions = ["-addext", f"extendedKeyUsage={usage}", "-addext", "basicConstraints=critical,CA:FALSE"]
        if san:
            extensions += ["-addext", f"subjectAltName={san}"]
        openssl("req", "-x509", "-new", "-CA", self.file, "-CAkey", self._key, "-key", pair.key, "-days", days,
                "-subj", f"/CN={common_name}", "-out", pair.certificate, *extensions)
        pair.key.chmod(0o600)
        return pair
