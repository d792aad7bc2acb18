"""Real stores for tests: a redis-server and a Postgres cluster on loopback, started and stopped here."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import redis

from tests import certificates

_READY_S = 20.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(what: str, holds: Callable[[], bool], within_s: float = _READY_S) -> None:
    """The tests' one wait: poll `holds` until it is true; fails saying `what` did not come."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(0.01)


class Redis:
    """One redis-server; it can be stopped, started, frozen and asked."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self.client = redis.Redis(port=self.port, socket_timeout=5, decode_responses=True)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_until("redis-server answers", self._answers)

    def stop(self) -> None:
        if self._process is not None:
            self.resume()
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Connections are still accepted by the kernel, and nothing is ever answered: a black hole."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        if self._process is not None and self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGCONT)

    def commands(self) -> int:
        """How many commands were processed so far, but for this question's own."""
        return int(self.client.info("stats")["total_commands_processed"])

    def time_ms(self) -> float:
        seconds, microseconds = self.client.time()
        return float(seconds) * 1000 + float(microseconds) / 1000

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False


@contextlib.contextmanager
def postgres(certificate: certificates.Server | None = None) -> Iterator[str]:
    """A fresh cluster with an owner and an app role; yields the URL pattern with {role}. With a certificate it speaks TLS to
    whoever asks for it, and lets others in all the same: a client that falls back to a plain connection gets one."""
    found = shutil.which("initdb") or "/usr/lib/postgresql/15/bin/initdb"
    user = "postgres" if os.getuid() == 0 else None  # Postgres refuses to run as root
    # Not below pytest's own folder, which other users may not enter.
    with tempfile.TemporaryDirectory(prefix="postgres-") as name, contextlib.ExitStack() as stack:
        if user:
            shutil.chown(name, user)
        data, port = Path(name, "data"), free_port()
        stack.callback(shutil.rmtree, data, ignore_errors=True)
        run = {"user": user, "cwd": "/", "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        initdb = [found, "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8"]
        subprocess.run([*initdb, "-D", str(data)], check=True, **run)  # type: ignore[call-overload]
        options = ["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        if certificate:
            for file, content in (("server.crt", certificate.chain), ("server.key", certificate.key)):
                place = Path(name, file)
                place.write_bytes(content)
                place.chmod(0o600)
                if user:
                    shutil.chown(place, user)
            options += [
                "-c",
                "ssl=on",
                "-c",
                f"ssl_cert_file={name}/server.crt",
                "-c",
                f"ssl_key_file={name}/server.key",
            ]
        server = [str(Path(found).parent / "postgres"), "-D", str(data), "-p", str(port), *options]
        process = subprocess.Popen(server, **run)  # type: ignore[call-overload]
        try:
            admin = f"postgresql://postgres@127.0.0.1:{port}/postgres"
            wait_until("postgres answers", lambda: _connects(admin))
            with psycopg.connect(admin, autocommit=True) as connection:
                connection.execute("CREATE ROLE owner LOGIN")
                connection.execute("CREATE ROLE app LOGIN")
                connection.execute("CREATE DATABASE space OWNER owner")
            yield f"postgresql://{{role}}@127.0.0.1:{port}/space"
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)


def _connects(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
