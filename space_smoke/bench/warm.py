"""A warm parent of runners: it has imported everything once and forks a process for each runner that a drill asks for.

`python -m space_smoke.bench.warm MODULE ARGUMENT...` with a Unix socket on standard input. It calls `MODULE.warm(*ARGUMENTS)`
once, then serves requests. A request is one JSON object {"arguments", "env"} with three descriptors: where the runner's
standard output and standard error go, and where this process tells of its life, one word a line: `pid N`, `stopped`,
`ended CODE` (CODE as in `subprocess`: negative for a signal). Each runner is a process of its own: own pid, session, process
group and locks; it calls `MODULE.main(arguments)`. Runners die with this process, and this process with whoever started it.

It has one thread and opens no connection, so that a fork copies nothing that is under way. Called by bench.runner.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from types import ModuleType
from typing import Any, NoReturn

from space_smoke import errors

_PR_SET_PDEATHSIG = 1
_REQUEST_BYTES = 65536


class Server:
    """`control` carries the requests; its end is the end of this process."""

    def __init__(self, module: ModuleType, control: socket.socket) -> None:
        self._module = module
        self._control = control
        self._lives: dict[int, int] = {}
        self._wakeup, wake = socket.socketpair()
        self._wakeup.setblocking(False)
        wake.setblocking(False)
        self._wake = wake
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake.fileno())

    def serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(self._wakeup, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if self._wakeup in ready:
                    self._wakeup.recv(4096)
                    self._reap()
                if self._control in ready and not self._take():
                    return

    def _take(self) -> bool:
        """One request; False when the other end is closed."""
        text, descriptors, _flags, _address = socket.recv_fds(self._control, _REQUEST_BYTES, 3)
        if not text:
            return False
        asked = json.loads(text)
        out, err, life = descriptors
        pid = os.fork()
        if pid == 0:
            self._become(asked, out, err)
        os.close(out)
        os.close(err)
        self._lives[pid] = life
        _told(life, f"pid {pid}")
        return True

    def _become(self, asked: dict[str, Any], out: int, err: int) -> NoReturn:
        """The runner, in the child. It ends with os._exit: what the parent registered for its own end is the parent's."""
        code = errors.BROKE
        try:
            os.setsid()
            _die_with_parent()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out, 1)
            os.dup2(err, 2)
            os.closerange(3, max([out, err, *self._lives.values(), self._wake.fileno(), self._control.fileno()]) + 1)
            os.environ.update(asked["env"])
            sys.argv = [self._module.__name__, *asked["arguments"]]
            code = self._module.main(asked["arguments"])
        except BaseException:  # this is the last frame of the process: nothing above may run
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        while self._lives:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                _told(self._lives[pid], "stopped")
                continue
            life = self._lives.pop(pid)
            _told(life, f"ended {os.waitstatus_to_exitcode(status)}")
            os.close(life)


def _told(life: int, word: str) -> None:
    """A reader that is gone does not care."""
    try:
        os.write(life, f"{word}\n".encode())
    except BrokenPipeError:
        return


def _die_with_parent() -> None:
    """prctl(PR_SET_PDEATHSIG, SIGKILL): what `setpriv --pdeathsig` does for a program."""
    parent = os.getppid()
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        os._exit(errors.BROKE)


def main(argv: list[str]) -> int:
    module = importlib.import_module(argv[0])
    module.warm(*argv[1:])
    gc.collect()
    gc.freeze()  # a runner's collections then leave the shared pages alone
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    Server(module, socket.socket(fileno=os.dup(0))).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
