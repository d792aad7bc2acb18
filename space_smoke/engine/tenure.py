"""The engine's hold on the Leases: takes domains, raises and lowers faults, keeps long phases alive, gives back.

Everything of the protocol goes through here to `lease.protocol`; nothing else in the engine writes to a target.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from space_smoke import errors
from space_smoke.bench import injection, kube, life, perform, wait
from space_smoke.faults import kinds as fault_kinds
from space_smoke.lease import protocol
from space_smoke.model import effect, kinds, objects, record, scenario

_RENEW_S = 60.0
_SWEPT = tuple(fault_kinds.TARGETS.values())


class Tenure:
    """`tell` appends to the History. One per run; its domains are taken and released per scenario."""

    def __init__(
        self,
        cluster: kube.Kube,
        namespace: str,
        run: str,
        lock: life.Lock | None,
        tell: Callable[..., Any],
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._run = run
        self._tell = tell
        self._setting = protocol.Setting(life.identity(run, lock), fault_kinds.KINDS, _SWEPT)
        self._performer = perform.Performer(
            cluster, settle=self._settle, tell=tell, reached=injection.from_environment()
        )
        self._held: dict[str, protocol.Held] = {}
        self._ended = threading.Event()
        self.lost: errors.SpaceSmokeError | None = None

    def look(self) -> list[protocol.Standing]:
        """Every domain as it stands; read-only."""
        return self._performer.drive(protocol.look(fault_kinds.DOMAINS, self._setting))

    def take(self, domains: Iterable[str]) -> None:
        """Acquires domains in name order and repairs what is recorded on them. Raises Refused, RestoreIncomplete, ..."""
        for domain in sorted(domains):
            self._held[domain] = self._performer.drive(protocol.take(domain, self._setting))
        self._ended.clear()
        threading.Thread(target=self._keep_alive, name="renew", daemon=True).start()

    def raise_fault(self, fault: scenario.Fault) -> record.Record:
        kind = fault_kinds.KINDS[fault.kind]
        wanted = protocol.Wanted(fault.name, kind, self.target(fault.target), fault.arguments, self._run)
        return self._performer.drive(protocol.raise_fault(self._held[kind.domain], wanted))

    def lower_fault(self, fault: scenario.Fault) -> None:
        """Raises RestoreIncomplete when it could not be put back; its record is kept."""
        domain = fault_kinds.KINDS[fault.kind].domain
        result = self._performer.drive(protocol.lower_fault(self._held[domain], fault.name))
        if result is not None and not result.ok:
            raise protocol.incomplete(domain, [result])

    def give_back(self) -> list[protocol.Restored]:
        """Restores everything that is still up and releases every domain; returns what could not be put back.

        One domain's failure never keeps another from being put back: it is raised when all were tried.
        """
        self._ended.set()
        kept: list[protocol.Restored] = []
        failures: list[errors.SpaceSmokeError] = []
        for domain, held in sorted(self._held.items(), reverse=True):
            try:
                kept += [result for result in self._performer.drive(protocol.lower_all(held)) if not result.ok]
                self._performer.drive(protocol.release(held))
            except errors.SpaceSmokeError as error:
                failures.append(error)
            self._held.pop(domain)
        if failures:
            raise max(failures, key=lambda error: errors.worst([error.exit_code]) == error.exit_code)
        return kept

    def check(self) -> None:
        """Raises what the renewal in the background met, if it met something."""
        if self.lost is not None:
            raise self.lost

    def target(self, target: scenario.Target) -> objects.Ref:
        api_version, kind = fault_kinds.TARGETS[target.kind]
        return objects.Ref(api_version, kind, target.namespace or self._namespace, target.name)

    def _settle(self, wanted: effect.Settle) -> effect.Done | effect.Late:
        try:
            return effect.Done(wait.rollout(self._cluster, wanted.ref, timeout_s=wanted.timeout_s, emit=self._tell))
        except errors.WaitFailed as error:
            return effect.Late(error.last)
        except errors.ApiError as error:
            return effect.Late(error.message)

    def _keep_alive(self) -> None:
        """Renews what is held every minute, unless the protocol is busy, which renews by itself."""
        while not self._ended.wait(_RENEW_S):
            for held in list(self._held.values()):
                try:
                    self._performer.try_drive(protocol.keep_alive(held))
                except errors.SpaceSmokeError as error:
                    self.lost = error
                    self._tell("lease-lost", domain=held.domain, sentence=error.message)
                    return


def domains_of(the: scenario.Scenario) -> set[str]:
    return {fault_kinds.KINDS[fault.kind].domain for fault in the.faults}


def unfit(fault: scenario.Fault, error: kinds.Unfit) -> errors.UsageError:
    return errors.UsageError(f"{fault.place or fault.name}: {error}", next_step="space_smoke plan shows the targets")
