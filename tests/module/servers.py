"""Redis servers for the tests: started on free loopback ports, in folders of their own, and always killed.

    with Server(folder) as server:
        server.client.execute_command("ONCE.INCRBY", "t", "id", "counter", 1)
"""

import atexit
import ctypes
import functools
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

import redis

from certificates import certificates

SOURCE = pathlib.Path(os.environ.get("LETHE_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
MODULE = pathlib.Path(os.environ.get("LETHE_BUILD_DIR", SOURCE / "build/release")) / "lethe.so"
PROGRAM = shutil.which(os.environ.get("LETHE_SERVER", "redis-server"))


def sanitizer():
    """The address sanitizer's library, if the module was built with it: the server must load it first."""
    listed = subprocess.run(["ldd", MODULE], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = re.search(r"libasan\S* => (\S+)", listed)
    return found.group(1) if found else None


IS_SANITIZED = sanitizer() is not None


def is_bound_deeply():
    """Valkey looks for a module's functions in the C library before it looks into what was preloaded."""
    words = subprocess.run([PROGRAM, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = re.search(r"Valkey.* v=(\d+)\.(\d+)", words)
    return found is not None and tuple(map(int, found.groups())) >= (8, 1)


@functools.cache
def skew_library():
    """A library that gives a server other clocks (skew.c); made once for a run of the tests."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lethe-skew-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = folder / "skew.so"
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", library,
                    pathlib.Path(__file__).with_name("skew.c"), "-ldl"], check=True)
    return str(library)


class Clock:
    """The clocks of a host, for one server or several; they may be changed while these run."""

    def __init__(self, path, wall_ms=0):
        self.path, self.wall_ms, self.passed_ms, self.start = path, wall_ms, 0, 0
        self.path.write_bytes(self._content())

    def _content(self):
        return struct.pack("<qqq", self.wall_ms, self.passed_ms, self.start)

    def _write(self):
        with open(self.path, "r+b") as file: # in place: it is mapped
            file.write(self._content())

    def set_wall(self, milliseconds):
        """Somebody sets the wall clock, so much ahead of what it really is."""
        self.wall_ms = milliseconds
        self._write()

    def pass_time(self, milliseconds):
        self.passed_ms += milliseconds
        self._write()

    def start_machine(self):
        """Between two starts of a server: the machine itself was started again."""
        self.start += 1
        self._write()


def free_port():
    """A port that nobody listens on, nor on the one 10000 above, which a cluster's node takes as well."""
    while True:
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            if port + 10000 > 65535:
                continue
            try:
                two.bind(("127.0.0.1", port + 10000))
            except OSError:
                continue
            return port


def _die_with_parent():
    """In the child: if the tests are killed, so is the server."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def wait_for(condition, seconds=120, what="condition"):
    """Asks until the answer is true, and returns it. A server that is away counts as no."""
    end = time.monotonic() + seconds
    while True:
        try:
            answer = condition()
        except (redis.ConnectionError, redis.TimeoutError, redis.ResponseError):
            answer = None
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.01)


class Server:
    """One server process. Options are those of redis.conf. module may be the path of another build. With tls, a certificate
    (certificates.py), it takes connections with TLS only."""

    def __init__(self, folder, module=True, clock=None, host=None, address="127.0.0.1", prefix=(), tls=None, **options):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.options = {"save": "", "enable-debug-command": "yes", "protected-mode": "no",
                        "repl-diskless-sync-delay": "0", "repl-ping-replica-period": "1"}
        secure = {}
        if tls is not None:
            made = certificates()
            self.options.update({"tls-port": str(self.port), "tls-cert-file": tls.cert, "tls-key-file": tls.key,
                                 "tls-ca-cert-file": made.authority.cert})
            secure = {"ssl": True, "ssl_cert_reqs": "none", "ssl_certfile": made.client.cert, "ssl_keyfile": made.client.key}
        self.options.update({key.replace("_", "-"): str(value) for key, value in options.items()})
        self.module = module
        self.address = address
        self.prefix = list(prefix)
        self.clock = clock
        self.host = host
        self.process = None
        self.client = redis.Redis(address, self.port, socket_timeout=120, **secure)
        self.client.response_callbacks.pop("COMMAND") # its answers are looked at as they are

    def start(self):
        words = self.prefix + [PROGRAM, "--port", "0" if "tls-port" in self.options else str(self.port), "--dir", str(self.folder), "--logfile", "log",
                               "--bind", self.address]
        if self.clock is not None:
            words += ["--repl-timeout", "2000000000"] # time that a test lets pass is no silence of a replica
        for key, value in self.options.items():
            words += ["--" + key] + (value.split(" ") if value else [""])
        if self.module:
            words += ["--loadmodule", str(MODULE if self.module is True else self.module)]
        # The server itself tries to allocate what a forged string claims, and goes on when it gets nothing.
        environment = dict(os.environ, UBSAN_OPTIONS="halt_on_error=1",
                           ASAN_OPTIONS="detect_leaks=0:abort_on_error=1:allocator_may_return_null=1")
        preloaded = [sanitizer()] if IS_SANITIZED else []
        if self.clock is not None:
            preloaded.append(skew_library())
            environment["SKEW_FILE"] = str(self.clock.path)
            if self.host is not None:
                environment["SKEW_HOST"] = self.host
        environment["LD_PRELOAD"] = ":".join(preloaded)
        self.process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL,
                                        stderr=open(self.folder / "errors", "ab"),
                                        preexec_fn=_die_with_parent)
        self.wait_until_up()
        return self

    def is_up(self):
        if self.process.poll() is not None:
            raise AssertionError("the server ended:\n" + self.log()[-4000:] +
                                 (self.folder / "errors").read_text()[-8000:])
        return self.client.ping()

    def wait_until_up(self):
        wait_for(self.is_up, 60, "server")

    def log(self):
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def kill(self):
        """SIGKILL, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        self.client.connection_pool.disconnect()

    def stop(self):
        """An orderly shutdown, with whatever the server saves then."""
        self.process.terminate()
        assert self.process.wait(60) == 0
        self.process = None
        self.client.connection_pool.disconnect()

    def restart(self):
        self.kill()
        return self.start()

    def follow(self, master):
        self.client.execute_command("REPLICAOF", master.address, master.port)

    def is_synced(self):
        return self.client.info("replication").get("master_link_status") == "up"

    def catch_up_with(self, master):
        """Waits until this replica has all that its master has sent."""
        wait_for(self.is_synced, what="link to the master")
        def same():
            return (master.client.info("replication")["master_repl_offset"] ==
                    self.client.info("replication")["slave_repl_offset"])
        wait_for(same, 60, "the same offset")

    def digest(self, key="t"):
        return self.client.execute_command("DEBUG", "DIGEST-VALUE", key)[0]

    def call(self, *words):
        return self.client.execute_command(*words)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()


PREFIXES = {b"lethe-onc": "ONCE", b"lethe-fbf": "FBF", b"lethe-fid": "FID", b"lethe-quo": "QF", b"lethe-gbf": "GBF"}


def table_info(client, key="t"):
    """What INFO of the value's type tells, as a dictionary."""
    flat = client.execute_command(PREFIXES[client.type(key)] + ".INFO", key)
    pairs = {name.decode(): value for name, value in zip(flat[::2], flat[1::2])}
    def number(value):
        is_number = isinstance(value, bytes) and (value[:1].isdigit() or value[:1] == b"-")
        return float(value) if is_number else value
    return {name: number(value) for name, value in pairs.items()}
