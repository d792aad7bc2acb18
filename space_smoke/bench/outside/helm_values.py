"""helm-values: the values of a release, changed by `helm upgrade` as anybody would, through the chart the release has.

The value is what the latest revision in Helm's store says; while that revision is not whole (a dead run left it pending, or
it failed) the fault counts as up, so that putting back ends what was begun. The fence is the annotation on the target that
the protocol stamps, since Helm rewrites its own Secrets and drops what others noted there.

What holds a stale Helm child off. `alter` compares fence and value, then starts Helm: that is two steps. Between them, and
inside Helm, stand the following. A SIGKILL of the run reaches the child (PDEATHSIG), and `timeout` ends it when the run is
merely stopped. The child holds the run's lock, so while it lives the run is not proven dead. Helm gives a new revision the
next number by a `create`: of two that began from the same revision one is refused. What is left: a child that was stopped
together with its `timeout`, past the Lease's whole duration, can on its return still patch the release's objects to the values
it was started with. Where kind/admission is applied that is refused as well: the child then carries its fence in its user's
extra fields, and the API server compares it with the target's and the Lease's at each write. A child that was refused half
way leaves a failed revision, which the next upgrade of the release (`space_smoke up` makes one) goes over.
"""

from __future__ import annotations

import pathlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from space_smoke import errors
from space_smoke.bench import cache, helm, kube, tools, wait
from space_smoke.bench.outside import fence_note, helm_identity, helm_storage, place, values
from space_smoke.model import kinds, objects

Program = Callable[[], pathlib.Path]


def _helm() -> pathlib.Path:
    return tools.obtain("helm", lambda *_a, **_k: None)


class HelmValues:
    def __init__(self, cluster: kube.Kube, program: Program = _helm) -> None:
        self._cluster = cluster
        self._program = program

    def sense(self, ref: objects.Ref, field: place.Field) -> tuple[place.Field, objects.Json]:
        """Adds the revision and the values it stands at. Refuses what is not whole, values that the chart does not take,
        and values that change nothing of the target."""
        history = self._history(field)
        if "standing" in field:
            return field, value_of(history[-1], field)
        last = history[-1]
        if not last.deployed:
            raise place.Refusal(422, f"release {field['release']} is {last.status}, not deployed")
        try:
            standing = {"values": values.read(last.config, field["paths"])}
        except ValueError as error:
            raise place.Refusal(422, str(error)) from error
        self._rehearse(ref, field, last)
        return {**field, "revision": last.number, "standing": standing}, standing

    def claim(self, ref: objects.Ref, field: place.Field, domain: str, fence: int, timeout_s: float) -> objects.Json:
        fence_note.raised(self._cluster, ref, domain, fence, timeout_s)
        return value_of(self._history(field)[-1], field)

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
        ends = time.monotonic() + timeout_s
        with cache.scratch() as folder:
            fence_note.must_be(self._cluster.read(ref), domain, fence)
            history = self._history(field)
            if value_of(history[-1], field) != before:
                raise place.Refusal(412, f"the values of release {field['release']} are others now")
            common = self._common(field, domain, fence, folder)
            if not history[-1].deployed:
                self._free(history, field, before, after, common, ends)
                history = self._history(field)
            if value_of(history[-1], field) != after:
                self._upgrade(history[-1], field, after, common, folder, ends)
        return value_of(self._history(field)[-1], field)

    def settled(self, ref: objects.Ref, field: place.Field, expect: objects.Json) -> wait.State:
        """The latest revision is whole and has the values, what they changed of the target shows on the live object, and
        the target is rolled out."""
        history = self._history(field)
        last = history[-1]
        if not last.deployed:
            return wait.State(False, f"revision {last.number} of {field['release']} is {last.status}", hopeless=True)
        value = value_of(last, field)
        if value != expect:
            return wait.State(False, f"release {field['release']} has other values: {value}", hopeless=True)
        other = _counterpart(history, field, expect)
        changes = values.difference(other.rendered(ref), last.rendered(ref)) if other else {}
        if not changes and expect == field["wanted"]:
            return wait.State(False, f"these values change nothing of {ref}", hopeless=True)
        state = self._state(ref)
        if not state.done or state.thing is None:
            return state
        lacking = values.lacking(state.thing, changes)
        if lacking:
            return wait.State(False, f"{ref} does not show {', '.join(lacking)} as revision {last.number} has it")
        return wait.State(True, f"revision {last.number}; {state.words}", thing={**state.thing, kinds.OUTSIDE: value})

    def watching(self, ref: objects.Ref) -> place.Watched:
        return wait.watching(ref)

    def _state(self, ref: objects.Ref) -> wait.State:
        """Whether what was upgraded has taken it in; `thing` is the object."""
        return wait.workload_state(self._cluster, ref)

    def _history(self, field: place.Field) -> list[helm_storage.Revision]:
        return helm_storage.revisions(self._cluster, field["namespace"], field["release"])

    def _rehearse(self, ref: objects.Ref, field: place.Field, last: helm_storage.Revision) -> None:
        """Renders the chart with the wanted values and with the standing ones, without the cluster."""
        with cache.scratch() as folder:
            rendered = []
            for config in (last.config, values.written(last.config, field["paths"], field["wanted"]["values"])):
                file = _write(folder, config)
                chart = helm_storage.write_chart(last, folder)
                try:
                    text = helm.template(self._program(), field["release"], chart, field["namespace"], [file])
                except errors.CommandFailed as error:
                    raise place.Refusal(422, f"the chart does not take these values: {error.output[-300:]}") from error
                rendered.append(helm_storage.Revision(0, "", config, text, {}).rendered(ref))
        if not values.difference(*rendered):
            raise place.Refusal(422, f"these values change nothing of {ref}")

    def _common(self, field: place.Field, domain: str, fence: int, folder: pathlib.Path) -> list[str]:
        if not helm_identity.guarded(self._cluster):
            return helm.where(field["namespace"], self._cluster.kubeconfig, self._cluster.context)
        return helm.where(field["namespace"], helm_identity.write(self._cluster, domain, fence, folder / "kubeconfig"))

    def _free(
        self,
        history: list[helm_storage.Revision],
        field: place.Field,
        before: objects.Json,
        after: objects.Json,
        common: list[str],
        ends: float,
    ) -> None:
        """Ends what a dead run began. Helm removes only what the latest revision's manifest has and the new one has not: so
        an attempt to put back is first rolled to the fault, whatever part of which is still there, and then put back."""
        last = history[-1]
        aim = before if _config_has(last, field, after) else after
        begun = [one for one in history[:-1] if _config_has(one, field, aim)]
        whole = [one for one in begun or history[:-1] if one.status in helm_storage.WHOLE]
        if not (whole or begun):
            raise errors.BenchError(
                f"release {field['release']} is {last.status} and has no earlier revision to roll back to",
                next_step="helm history, then space_smoke repair",
            )
        helm.rollback(self._program(), field["release"], (whole or begun)[-1].number, common, timeout_s=_left(ends))

    def _upgrade(
        self,
        last: helm_storage.Revision,
        field: place.Field,
        after: Mapping[str, Any],
        common: list[str],
        folder: pathlib.Path,
        ends: float,
    ) -> None:
        file = _write(folder, values.written(last.config, field["paths"], after["values"]))
        chart = helm_storage.write_chart(last, folder)
        helm.upgrade(self._program(), field["release"], chart, file, common, timeout_s=_left(ends))


def value_of(last: helm_storage.Revision, field: place.Field) -> dict[str, Any]:
    """What the latest revision says; the fault while it is not whole and is one of ours."""
    try:
        found = {"values": values.read(last.config, field["paths"])}
    except ValueError:
        return {"values": {}}
    ours = found in (field["wanted"], field.get("standing"))
    return dict(field["wanted"]) if ours and not last.deployed else found


def _config_has(revision: helm_storage.Revision, field: place.Field, value: objects.Json) -> bool:
    try:
        return bool({"values": values.read(revision.config, field["paths"])} == value)
    except ValueError:
        return False


def _counterpart(
    history: list[helm_storage.Revision], field: place.Field, expect: objects.Json
) -> helm_storage.Revision | None:
    """The revision to compare with: standing for the fault, the fault for standing; None where there is none (any more)."""
    other = field["standing"] if expect == field["wanted"] else field["wanted"]
    since = [one for one in history[:-1] if one.number >= field["revision"] and _config_has(one, field, other)]
    return since[-1] if since else None


def _write(folder: pathlib.Path, config: Mapping[str, Any]) -> pathlib.Path:
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(dict(config)))
    return file


def _left(ends: float) -> float:
    left_s = ends - time.monotonic()
    if left_s < 1.0:
        raise errors.BenchError("there is no time left for Helm")
    return left_s
