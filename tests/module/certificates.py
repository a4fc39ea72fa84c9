"""Certificates for the tests, made by openssl: an authority, servers, clients, and wrong ones of each."""

import functools
import pathlib
import subprocess
import tempfile

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def _openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Certificate:
    """A certificate and its key, as files."""

    def __init__(self, folder, name):
        self.cert, self.key = str(folder / f"{name}.crt"), str(folder / f"{name}.key")


class Authority(Certificate):
    """Who signs."""

    def __init__(self, folder, name):
        super().__init__(folder, name)
        self.folder = folder
        _openssl("req", "-x509", *KEY, "-keyout", self.key, "-out", self.cert, "-days", "30", "-subj", f"/CN={name}")

    def sign(self, name, hosts="DNS:localhost,IP:127.0.0.1,IP:::1", days=30):
        made = Certificate(self.folder, name)
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={hosts}\n")
        _openssl("req", *KEY, "-keyout", made.key, "-out", str(request), "-subj", f"/CN={name}")
        _openssl("x509", "-req", "-in", str(request), "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial",
                 "-days", str(days), "-extfile", str(extensions), "-out", made.cert)
        return made


class Certificates:
    """All that the tests need. The folder is removed with the object."""

    def __init__(self):
        self.holder = tempfile.TemporaryDirectory(prefix="lethe-tls-")
        folder = pathlib.Path(self.holder.name)
        self.folder = folder
        self.authority = Authority(folder, "authority")
        self.stranger = Authority(folder, "stranger")
        self.server = self.authority.sign("server")
        self.client = self.authority.sign("client")
        self.named = self.authority.sign("named", "DNS:redis.example.com,DNS:*.nodes.example.com")
        self.expired = self.authority.sign("expired", days=-1)
        self.foreign = self.stranger.sign("foreign")


@functools.cache
def certificates():
    return Certificates()

