"""The provider state of each origin: the latest revision, whole, signed by the origin. Goes with membership."""

from __future__ import annotations

from collections.abc import Iterator

from swim import ledger, signing
from swim.messages import Have, ProviderState


class Providers:
    """Of one network; at most as many origins as the ledger has."""

    def __init__(self, network: str, verifier: signing.Verifier) -> None:
        self._network, self._verifier = network, verifier
        self._states: dict[str, ProviderState] = {}

    def merge(self, state: ProviderState) -> str:
        """Take the state in if its revision is later than what is there; an outcome as of `Ledger.merge`."""
        known = self._states.get(state.origin)
        if known and (state.revision, state.payload) <= (known.revision, known.payload):
            return ledger.KNOWN
        if not known and len(self._states) >= ledger.ORIGIN_CAP:
            return ledger.ORIGINS_FULL
        if not self._verifier.knows(state.origin):
            return ledger.UNKNOWN_ORIGIN
        if not self._verifier.verify(state.origin, signing.payload(self._network, state), state.signature):
            return ledger.BAD_SIGNATURE
        self._states[state.origin] = state
        return ledger.MERGED

    def remove(self, origin: str) -> bool:
        """Whether there was anything."""
        return self._states.pop(origin, None) is not None

    def get(self, origin: str) -> ProviderState | None:
        return self._states.get(origin)

    def __iter__(self) -> Iterator[ProviderState]:
        return iter(self._states.values())

    def haves(self) -> list[Have]:
        return [Have(state.origin, state.revision) for state in self._states.values()]
