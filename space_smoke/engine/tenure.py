"""The engine's hold on the Leases: takes domains, raises and lowers faults, keeps long phases alive, gives back.

Everything of the protocol goes through here to `lease.protocol`; nothing else in the engine writes to a target.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from space_smoke import errors
from space_smoke.bench import copies, injection, kind, kube, life, perform, wait
from space_smoke.bench.outside import place, table
from space_smoke.faults import kinds as fault_kinds
from space_smoke.lease import abandon, protocol, view
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
        self._places = table.places(cluster)
        self._probes = table.probes(cluster, self._places)
        self._performer = perform.Performer(
            cluster, places=self._places, settle=self._settle, tell=tell, reached=injection.from_environment()
        )
        self._held: dict[str, protocol.Held] = {}
        self._ended = threading.Event()
        self.lost: errors.SpaceSmokeError | None = None

    def look(self, *, sweep: bool = False) -> list[protocol.Standing]:
        """Every domain as it stands; read-only. `sweep`: also what stands on targets only, for a few reads more."""
        return self._performer.drive(protocol.look(fault_kinds.DOMAINS, self._setting, sweep=sweep))

    def abandon(self, fault_id: str) -> abandon.Ended:
        """See lease.abandon."""
        ended = self._performer.drive(abandon.abandon(fault_id, fault_kinds.DOMAINS, self._setting))
        for thing in self._cluster.listed("apps/v1", "Deployment", "", f"{view.FENCED}=true"):
            copies.forget(self._cluster, thing)
        return ended

    def take(self, domains: Iterable[str]) -> None:
        """Acquires domains in name order and repairs what is recorded on them. Raises Refused, RestoreIncomplete, ...

        What cannot be put back in one domain never keeps another from being put back: it is raised when all were tried.
        """
        kept: list[errors.RestoreIncomplete] = []
        for domain in sorted(domains):
            try:
                self._held[domain] = self._performer.drive(protocol.take(domain, self._setting))
            except errors.RestoreIncomplete as error:
                kept.append(error)
        if kept:
            raise errors.RestoreIncomplete("; ".join(one.message for one in kept), next_step=kept[0].next_step)
        self._ended.clear()
        threading.Thread(target=self._keep_alive, name="renew", daemon=True).start()

    def raise_fault(self, fault: scenario.Fault) -> record.Record:
        kind, ref = fault_kinds.KINDS[fault.kind], self.target(fault.target)
        there = self._probes.get(fault.kind)
        if isinstance(there, place.Guarded):
            there.refuse(ref, kind.address(fault.arguments, self._cluster.read(ref)))
        wanted = protocol.Wanted(fault.name, kind, ref, fault.arguments, self._run)
        return self._performer.drive(protocol.raise_fault(self._held[fault_kinds.domain_of(fault)], wanted))

    def lower_fault(self, fault: scenario.Fault) -> None:
        """Raises RestoreIncomplete when it could not be put back; its record is kept."""
        domain = fault_kinds.domain_of(fault)
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
        """The object that a scenario's target names. A node may also be named by its group, if one node has it."""
        api_version, kind = fault_kinds.TARGETS[target.kind]
        if target.kind in scenario.CLUSTER_WIDE:
            return objects.Ref(api_version, kind, "", self._node(target.name) if target.kind == "node" else target.name)
        return objects.Ref(api_version, kind, target.namespace or self._namespace, target.name)

    def _node(self, name: str) -> str:
        grouped = [
            thing["metadata"]["name"] for thing in self._cluster.listed("v1", "Node", "", f"{kind.GROUP}={name}")
        ]
        return str(grouped[0]) if len(grouped) == 1 else name

    def value_of(self, item: record.Record) -> objects.Json:
        """What the field of a record holds at this moment, wherever it lies. Raises ApiError, BenchError."""
        thing: objects.Object = self._cluster.read(objects.Ref(*item.target.where()))
        kind = fault_kinds.KINDS[item.kind]
        if kind.outside:
            try:
                thing = {**thing, kinds.OUTSIDE: self._places[item.kind].sense(item.target, item.field)[1]}
            except place.Refusal as refusal:
                raise errors.BenchError(refusal.message) from refusal
        return kind.read(thing, item.field)

    def _settle(self, wanted: effect.Settle) -> effect.Done | effect.Late:
        """By the probe that the kind has, else by the rollout of the target; then no copy of an old record is left."""
        try:
            thing = self._settled(wanted)
            if wanted.ref.kind == "Deployment" and thing:
                copies.forget(self._cluster, thing)
            return effect.Done(thing)
        except errors.WaitFailed as error:
            return effect.Late(error.last)
        except errors.BenchError as error:
            return effect.Late(error.message)

    def _settled(self, wanted: effect.Settle) -> objects.Object:
        there = self._probes.get(wanted.kind)
        if there is None:
            return wait.rollout(self._cluster, wanted.ref, timeout_s=wanted.timeout_s, emit=self._tell)
        state = wait.until(
            self._cluster,
            f"{wanted.kind} on {wanted.ref} to be in effect",
            lambda: there.settled(wanted.ref, wanted.field, wanted.expect),
            watching=there.watching(wanted.ref),
            timeout_s=wanted.timeout_s,
            emit=self._tell,
        )
        return state.thing or {}

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
    return {fault_kinds.domain_of(fault) for fault in the.faults}


def unfit(fault: scenario.Fault, error: kinds.Unfit) -> errors.UsageError:
    return errors.UsageError(f"{fault.place or fault.name}: {error}", next_step="space_smoke plan shows the targets")
