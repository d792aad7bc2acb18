"""Places that a script of `node_script` looks after: it is asked with one verb (look, claim, alter) and answers with one word.

Scripts take: verb, fence file, fence, seconds to wait for its lock, the word that is expected, the word that is wanted, and
what is theirs alone.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

from space_smoke import errors
from space_smoke.bench import engine
from space_smoke.bench.outside import place
from space_smoke.model import objects

LOOK_S = 20.0
_FOLDER = "/var/lib/space-smoke"  # in a node; lasts as long as the node's container


class Scripted(abc.ABC):
    """The part of place.Place that is the same whatever the script does."""

    @abc.abstractmethod
    def _asked(
        self, verb: str, field: place.Field, domain: str, fence: int, before: str, after: str, timeout_s: float
    ) -> objects.Json:
        """The value in the script's answer. Raises Refusal(409 or 412), BenchError for an answer that is none."""

    @abc.abstractmethod
    def _word(self, value: objects.Json) -> str:
        """A value as the script calls it."""

    def _looked(self, field: place.Field) -> objects.Json:
        return self._asked("look", field, "", 0, "", "", LOOK_S)

    def claim(self, ref: objects.Ref, field: place.Field, domain: str, fence: int, timeout_s: float) -> objects.Json:
        return self._asked("claim", field, domain, fence, "", "", timeout_s)

    def alter(
        self,
        ref: objects.Ref,
        field: place.Field,
        domain: str,
        fence: int,
        before: objects.Json,
        after: objects.Json,
        timeout_s: float,
    ) -> objects.Json:
        return self._asked("alter", field, domain, fence, self._word(before), self._word(after), timeout_s)


def asking(verb: str, file: str, fence: int, before: str, after: str, timeout_s: float) -> list[str]:
    """The arguments that every script takes; it waits for its lock a second less than we do for it."""
    return [verb, file, str(fence), str(max(1, int(timeout_s) - 1)), before, after]


def in_node(
    script: str,
    field: place.Field,
    verb: str,
    domain: str,
    fence: int,
    before: str,
    after: str,
    more: Sequence[str],
    timeout_s: float,
) -> str:
    """The word that the script answers inside the node that is container `field["id"]`, where the fence is a file as well."""
    told = asking(verb, f"{_FOLDER}/fence.{domain}", fence, before, after, timeout_s)
    done = engine.docker("exec", field["id"], "sh", "-c", script, "sh", *told, *more, timeout_s=timeout_s)
    return answered(done.stdout)


def answered(text: str) -> str:
    """The value in a script's one line. Raises Refusal, or BenchError when the line is none of those."""
    word, _, rest = text.strip().partition(" ")
    if word == "fence":
        raise place.Refusal(409, rest)
    if word == "other":
        raise place.Refusal(412, rest)
    if word != "value" or not rest:
        raise errors.BenchError(f"a node's script answered {text.strip()[:200]!r}")
    return rest
