"""Settings come from the environment, are checked once at start, and every mistake is reported in one go.

A service builds its settings through a `Reader`: each read returns a usable value (the default when the variable is
unset, empty or wrong) and remembers what was wrong. `Reader.settle` then raises one `SettingsError` with all mistakes,
so that an operator fixes them in one round. An empty variable counts as unset, because a chart that renders an
optional value as "" means "not given".
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

EXIT_CODE = 64  # the command-line convention for "you called me wrong"; the service never started

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_SHOWN = 80  # characters of a wrong value worth showing


class SettingsError(Exception):
    """The environment is wrong; the message lists each variable with its value, the rule and what to do."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        heading = (
            f"{len(self.mistakes)} wrong setting(s); correct the environment of this container and start it again:"
        )
        super().__init__("\n".join((heading, *(f"  {mistake}" for mistake in self.mistakes))))


def or_exit(begin: Callable[[], T], *also: type[Exception]) -> T:
    """What `begin` returns. A wrong setting, or an error of `also`, is told and ends the process with EXIT_CODE."""
    told: tuple[type[Exception], ...] = (SettingsError, *also)
    try:
        return begin()
    except told as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(EXIT_CODE)


class Reader:
    """Reads variables of one environment and collects mistakes until `settle`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._mistakes: list[str] = []

    def settle(self) -> None:
        """Raise `SettingsError` when anything read so far was wrong."""
        if self._mistakes:
            raise SettingsError(self._mistakes)

    def mistake(self, name: str, value: object, rule: str) -> None:
        """Remember that variable `name` holds `value` against `rule`."""
        shown = repr(value)
        self._mistakes.append(f"{name}={shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '...'}: {rule}")

    def secret(self, name: str) -> str:
        """A value that must never appear in a message; "" when unset."""
        return self._environment.get(name, "").strip()

    def text(self, name: str, default: str = "", *, required: bool = False) -> str:
        value = self._environment.get(name, "").strip()
        if required and not value:
            self.mistake(name, value, "must be set")
        return value or default

    def boolean(self, name: str, default: bool) -> bool:
        value = self.text(name).lower()
        if not value:
            return default
        if value in _TRUE or value in _FALSE:
            return value in _TRUE
        self.mistake(name, value, "must be true or false")
        return default

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        value = self.text(name)
        if not value:
            return default
        # Plain digits only: int() would also take "1_000", " 7" and digits of other scripts.
        if re.fullmatch(r"-?[0-9]{1,12}", value, re.ASCII) and low <= int(value) <= high:
            return int(value)
        self.mistake(name, value, f"must be a whole number from {low} to {high}")
        return default

    def number(self, name: str, default: float, low: float, high: float) -> float:
        value = self.text(name)
        if not value:
            return default
        if re.fullmatch(r"-?[0-9]{1,12}(\.[0-9]{1,9})?", value, re.ASCII) and low <= float(value) <= high:
            return float(value)
        self.mistake(name, value, f"must be a number from {low:g} to {high:g}")
        return default

    def choice(self, name: str, default: str, allowed: Sequence[str]) -> str:
        value = self.text(name)
        if not value or value in allowed:
            return value or default
        self.mistake(name, value, f"must be one of {', '.join(allowed)}")
        return default

    def names(self, name: str, reserved: Sequence[str] = (), known: Sequence[str] | None = None) -> tuple[str, ...]:
        """A comma-separated list of distinct label-like names, from `known` when that is given."""
        found: list[str] = []
        for item in filter(None, (part.strip() for part in self.text(name).split(","))):
            if known is not None and item not in known:
                self.mistake(name, item, f"must be one of {', '.join(known)}")
            elif not _LABEL.fullmatch(item):
                self.mistake(
                    name, item, "names have 1 to 64 letters, digits, '.', '_' or '-' and start and end plainly"
                )
            elif item in reserved:
                self.mistake(name, item, "is a name the service uses itself")
            elif item in found:
                self.mistake(name, item, "is listed twice")
            else:
                found.append(item)
        return tuple(found)

    def labels(self, name: str) -> dict[str, str]:
        """A JSON object of strings, such as a node selector; {} when unset."""
        value = self.text(name)
        if not value:
            return {}
        try:
            parsed = json.loads(value)
        except ValueError:
            parsed = None
        if isinstance(parsed, dict) and all(isinstance(item, str) for item in parsed.values()):
            return parsed
        self.mistake(name, value, 'must be a JSON object of strings, like {"kubernetes.io/os": "linux"}')
        return {}
