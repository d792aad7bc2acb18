"""Named sabotages of the protocol's core, each with the test that must notice it.

A sabotage replaces text inside one function and compiles that function again in its module; where the text is no longer
there the table is out of date and says so. One long table: it is read by looking things up, so it is not split.
"""

from __future__ import annotations
import __future__ as future

import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from space_smoke.faults import scale, set_env
from space_smoke.lease import acquire, held, inject, outside, protocol, restore, targets, view
from space_smoke.model import life, record
from space_smoke.tests.sim import api
from space_smoke.tests.sim import test_exhaustive as exhaustive
from space_smoke.tests.unit import (
    test_fault_scale,
    test_fault_set_env,
    test_lease_acquire,
    test_lease_held,
    test_lease_inject,
    test_lease_outside,
    test_lease_protocol,
    test_lease_restore,
    test_lease_targets,
    test_life,
    test_record,
)


@dataclass(frozen=True, slots=True)
class Edit:
    function: Callable[..., Any]
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """`caught_by` is a test function; `arguments` are those it is parametrized with."""

    name: str
    edits: tuple[Edit, ...]
    caught_by: Callable[..., None]
    arguments: tuple[Any, ...] = ()


def apply(patch: pytest.MonkeyPatch, mutant: Mutant) -> None:
    sources: dict[Callable[..., Any], str] = {}
    for edit in mutant.edits:
        source = sources.get(edit.function) or textwrap.dedent(inspect.getsource(edit.function))
        assert source.count(edit.old) == 1, (
            f"{mutant.name}: {edit.function.__name__} has no single {edit.old!r} any more"
        )
        sources[edit.function] = source.replace(edit.old, edit.new)
    for function, source in sources.items():
        module = sys.modules[function.__module__]
        code = compile(source, f"<{mutant.name}>", "exec", future.annotations.compiler_flag, dont_inherit=True)
        made: dict[str, Any] = {}
        exec(code, module.__dict__, made)
        owner = getattr(module, function.__qualname__.partition(".")[0]) if "." in function.__qualname__ else module
        patch.setattr(owner, function.__name__, made[function.__name__])


def _unheard(*_args: object) -> None:
    """The counts of an exhaustive test go nowhere."""


def one(name: str, function: Callable[..., Any], old: str, new: str, caught_by: Any, *arguments: Any) -> Mutant:
    return Mutant(name, (Edit(function, old, new),), caught_by, arguments)


KILLED = exhaustive.test_a_run_killed_anywhere_is_put_right_by_the_next
TROUBLED = exhaustive.test_a_run_whose_requests_or_answers_are_lost_or_late_ends_clean
STOPPED = exhaustive.test_a_stopped_run_with_a_slow_clock_harms_no_successor
KILLED_OUTSIDE = exhaustive.test_a_run_with_faults_outside_killed_anywhere_is_put_right_by_the_next
TROUBLED_OUTSIDE = exhaustive.test_a_run_with_faults_outside_whose_requests_are_lost_or_late_ends_clean
STOPPED_OUTSIDE = exhaustive.test_a_stopped_run_with_faults_outside_harms_no_successor

MUTANTS: tuple[Mutant, ...] = (
    # -- records
    Mutant(
        "act before record",
        (
            Edit(inject.inject, '"record", item', '"record"'),
            Edit(inject.inject, '"renew", item', '"renew"'),
        ),
        KILLED,
        ("fresh", _unheard),
    ),
    one(
        "no copy of the record on the target",
        inject._change,
        'copy = objects.put_metadata(thing, "annotations", {item.key: record.encode(item)})',
        "copy: list[objects.Operation] = []",
        test_lease_targets.test_a_lease_deleted_under_a_fault_is_repaired_from_the_record_on_the_target,
    ),
    one(
        "copies on targets are not looked for",
        targets.stamp_all,
        "        if fresh is not None:\n            yield from _adopt_records(held, fresh)\n    done",
        "    done",
        test_lease_targets.test_a_lease_deleted_under_a_fault_is_repaired_from_the_record_on_the_target,
    ),
    one(
        "second fault on the same field allowed",
        inject._refuse_double,
        "if other.kind == item.kind",
        "if False",
        test_lease_inject.test_a_second_fault_on_the_same_field_is_refused_and_changes_nothing_of_the_target,
    ),
    one(
        "standing read after the record was written",
        inject._planned,
        "standing = wanted.kind.read(thing, field)",
        "standing = wanted.kind.wanted(wanted.arguments, field) and {}",
        test_lease_inject.test_record_and_copy_are_the_same_and_hold_what_stood,
    ),
    one(
        "newer schemas are read as if they were known",
        record.decode,
        "    if reason:",
        '    if reason and "schema" not in reason:',
        test_record.test_a_record_that_cannot_be_read_is_refused_by_name,
        test_record.raw(schema=0),
        "1 was expected",
    ),
    one(
        "unreadable records are passed over",
        acquire.refuse_unreadable,
        "if unreadable:",
        "if False:",
        test_lease_protocol.test_an_unreadable_record_is_refused_with_zero_writes_and_stays,
        "{",
    ),
    one(
        "size is not checked beforehand",
        held._changes,
        'if any(item.stage == "planned" for item in put):',
        "if False:",
        test_lease_held.test_a_record_fits_to_the_byte_and_one_more_is_refused_before_anything_changed,
        1,
    ),
    one(
        "no room for records to grow",
        held._refuse_oversize,
        "+ records * record.GROWTH_BYTES",
        "",
        test_lease_held.test_a_record_fits_to_the_byte_and_one_more_is_refused_before_anything_changed,
        1,
    ),
    one(
        "the Lease carries no finalizer",
        held.finalizer_change,
        "if wanted == (view.FINALIZER in present):",
        "if True:",
        test_lease_held.test_the_finalizer_stands_while_a_record_does,
    ),
    # -- restoring
    one(
        "clear before verify",
        restore.restore,
        "if not gone:",
        "if False:",
        test_lease_restore.test_a_fault_is_verified_before_its_record_goes,
    ),
    one(
        "a restore that did not settle counts",
        restore._settled,
        "if isinstance(reply, effect.Late):",
        "if isinstance(reply, effect.Late):\n        return\n    if isinstance(reply, effect.Late):",
        test_lease_restore.test_a_restore_that_does_not_settle_stays_recorded_and_a_later_take_clears_it,
    ),
    one(
        "restore the current value instead of the recorded one",
        restore._write_back,
        "kind.write(thing, item.field, item.standing)",
        "kind.write(thing, item.field, now)",
        KILLED,
        "fresh",
        _unheard,
    ),
    Mutant(
        "drift is overwritten",
        (
            Edit(restore._write_back, "if other and not replaced and kind.reversible:", "if False:"),
            Edit(restore._write_back, "if now == item.fault else []", "if now != item.standing else []"),
        ),
        test_lease_restore.test_a_drifted_field_is_reported_and_not_overwritten,
    ),
    one(
        "stop at the first failed restore",
        restore.restore_all,
        "told, **more)))",
        "told, **more)))\n        if not results[-1].ok:\n            break",
        test_lease_restore.test_one_failing_restore_never_stops_the_others,
    ),
    one(
        "restore the first raised first",
        restore.restore_all,
        "reverse=True",
        "reverse=False",
        test_lease_restore.test_what_was_raised_last_is_put_back_first,
    ),
    one(
        "a refused restore counts as done",
        restore._write_back,
        "if isinstance(reply, effect.Done):",
        "if not isinstance(reply, effect.Lost):",
        test_lease_restore.test_a_restore_that_is_always_refused_keeps_its_record,
        422,
    ),
    Mutant(
        "an unanswered restore counts as done, and nobody looks",
        (
            Edit(restore._write_back, "if isinstance(reply, effect.Done):", "if not isinstance(reply, effect.No):"),
            Edit(restore._settled, "if back != item.standing and kind.reversible:", "if False:"),
        ),
        TROUBLED,
        ("fresh", _unheard),
    ),
    one(
        "a target that could not be read counts as gone",
        targets.stamp,
        "if isinstance(reply, effect.No) and reply.status == 404:",
        "if not isinstance(reply, effect.Done):",
        TROUBLED,
        "fresh",
        _unheard,
    ),
    one(
        "a replaced target is taken for the old one",
        restore._write_back,
        "replaced = objects.ref_of(thing).uid != item.target.uid",
        "replaced = False",
        test_lease_restore.test_a_replaced_target_keeps_its_own_value_unless_that_is_our_faults,
        3,
        3,
    ),
    one(
        "a fault is raised on a replaced target",
        inject._change,
        "if objects.ref_of(thing).uid != item.target.uid:",
        "if False:",
        test_lease_inject.test_a_target_that_was_replaced_meanwhile_is_not_given_the_fault,
        "stamp",
    ),
    one(
        "a record that makes no sense stops everything",
        restore.restore,
        "Drifted, *_NONSENSE)",
        "Drifted)",
        test_lease_restore.test_a_record_that_makes_no_sense_to_its_kind_fails_alone,
    ),
    # -- fences
    one(
        "targets are not stamped at an acquisition",
        targets.stamp_all,
        "for thing in stamped:",
        "for thing in ():",
        test_lease_targets.test_every_acquisition_stamps_every_target_that_was_ever_stamped,
    ),
    one(
        "any stamp counts as ours",
        targets.stamp,
        "if fence == held.fence:",
        "if fence is not None:",
        test_lease_targets.test_every_acquisition_stamps_every_target_that_was_ever_stamped,
    ),
    one(
        "no fence test in target writes",
        targets.write,
        '            objects.test(str(held.fence), "metadata", "annotations", view.target_fence(held.domain)),\n',
        "",
        STOPPED,
        "used",
        0,
        _unheard,
    ),
    one(
        "a first stamp is not tied to what was read",
        targets._stamp,
        "if fence is None or not objects.labels_of(thing):",
        "if False:",
        test_lease_targets.test_a_late_first_stamp_does_not_land_after_a_successor_came_and_went,
    ),
    one(
        "a later stamp does not test the one before",
        targets._stamp,
        "if fence is not None:",
        "if False:",
        STOPPED,
        "used",
        0,
        _unheard,
    ),
    one(
        "a write in doubt is forgotten",
        targets.certain,
        "if held.in_doubt:",
        "if False:",
        TROUBLED,
        "fresh",
        _unheard,
    ),
    one(
        "no renewal between stamp and write",
        inject._change,
        '        yield from holding.renew(held, "renew")\n',
        "",
        test_lease_targets.test_a_write_by_a_runner_with_the_same_fence_number_under_a_lease_made_anew_does_not_land,
    ),
    one(
        "the fence does not grow at a takeover",
        acquire._take,
        "str(seen.fence + 1)",
        "str(seen.fence)",
        KILLED,
        "used",
        _unheard,
    ),
    one(
        "a Lease that counts lower than its targets is not raised",
        targets.stamp_all,
        "if highest >= held.fence:",
        "if False:",
        test_lease_acquire.test_a_lease_made_by_hand_is_raised_above_every_fence_on_any_target,
        "2",
    ),
    Mutant(
        "a Lease made anew starts with fence 1",
        (
            Edit(acquire.acquire, "fence = 1 + view.highest_fence((yield from swept(targets)), domain)", "fence = 1"),
            Edit(targets.stamp_all, "if highest >= held.fence:", "if False:"),
        ),
        test_lease_acquire.test_a_lease_made_anew_starts_above_every_fence_on_any_target,
    ),
    # -- the renewal
    Mutant(
        "a renewal that changes nothing",
        (
            Edit(held._changes, '"boottime": round(now.seconds, 6), "nonce": nonce', '"nonce": ""'),
            Edit(held._changes, '        objects.put(now.wall, "spec", "renewTime"),\n', ""),
        ),
        test_lease_held.test_every_renewal_is_a_new_version_of_the_lease,
    ),
    one(
        "an unanswered renewal counts as done",
        held.renew,
        "if seen.nonce == nonce.value:",
        "if True:",
        TROUBLED,
        "fresh",
        _unheard,
    ),
    one(
        "somebody else's touch is not adopted",
        held.renew,
        "        adopt(held, seen.thing)\n    raise",
        "    raise",
        test_lease_held.test_a_touch_by_somebody_else_is_adopted_and_the_holder_goes_on,
    ),
    one(
        "a successor's Lease is adopted",
        held.read_own,
        "if seen.ref.uid == held.ref.uid and seen.holder == held.holder:",
        "if True:",
        test_lease_held.test_a_successor_means_the_lease_is_lost_and_nothing_more_is_written,
    ),
    one(
        "the uid is not tested in a renewal",
        held._changes,
        '        objects.test(held.ref.uid, "metadata", "uid"),\n',
        "",
        test_lease_held.test_a_lease_of_the_same_name_in_another_cluster_is_lost_even_at_the_same_version,
    ),
    one(
        "the tenure is not counted",
        held.tenure_left,
        "if left_s <= 0:",
        "if False:",
        test_lease_held.test_a_holder_whose_tenure_ran_out_writes_nothing,
    ),
    Mutant(
        "the holder is not checked in release",
        (
            Edit(protocol.release, "if now_view.holder != held.holder:", "if False:"),
            Edit(protocol._release, '        objects.test(held.holder, "spec", "holderIdentity"),\n', ""),
        ),
        test_lease_protocol.test_releasing_never_frees_a_successors_lease,
    ),
    one(
        "a failed take keeps the Lease",
        protocol._taken,
        "            yield from release(held)\n",
        "            pass\n",
        test_lease_protocol.test_taking_that_fails_half_way_gives_the_lease_back,
    ),
    one(
        "a record that is left does not stop a take",
        protocol._taken,
        "if failed:",
        "if False:",
        test_lease_protocol.test_a_record_that_is_left_makes_take_fail_with_exit_3_and_the_lease_is_free_for_the_next,
    ),
    # -- liveness
    one(
        "a process id is enough",
        life._gone,
        "if facts.same_start is False:",
        "if False:",
        test_lease_acquire.test_a_reused_process_id_is_not_the_holder,
    ),
    one(
        "children are not counted",
        life.judge,
        "if facts.group_members > 0:",
        "if False:",
        test_lease_acquire.test_an_orphaned_child_keeps_its_dead_parent_alive,
    ),
    one(
        "the pid namespace is not compared",
        life.judge,
        "if not facts.same_pid_namespace:",
        "if False:",
        test_life.test_nothing_that_is_not_known_to_be_ours_is_ever_dead,
    ),
    one(
        "another machine's clock is believed",
        acquire.life_of,
        "if facts.same_boot and isinstance",
        "if isinstance",
        test_lease_acquire.test_another_machines_holder_expires_only_by_our_own_watch,
    ),
    one(
        "a Lease seen for the first time has expired",
        acquire.life_of,
        "if now.seconds - first_seen.seconds > seen.duration_s:",
        "if now.seconds - first_seen.seconds <= 0:",
        test_lease_acquire.test_a_holder_that_cannot_be_looked_up_is_refused_with_zero_writes,
        {"pidns": 1},
    ),
    one(
        "a stated duration is taken as it is",
        view.parse,
        'min(max(float(spec.get("leaseDurationSeconds") or DURATION_S), 1.0), float(DURATION_S))',
        'float(spec.get("leaseDurationSeconds") or DURATION_S)',
        test_lease_acquire.test_the_stated_duration_is_clamped,
        2**31 - 1,
        3600,
    ),
    one(
        "a live holder is overrun",
        acquire.may_take,
        'if judged.life == "expired":',
        "if True:",
        test_lease_acquire.test_a_live_holder_is_refused_with_zero_writes,
    ),
    # -- one for each invariant that the sabotages above leave alone
    one(
        "absent and null are read as one",
        scale.read,
        'if "replicas" in spec else',
        'if spec.get("replicas") is not None else',
        test_fault_scale.test_absent_null_and_a_number_are_read_as_three_different_things,
    ),
    one(
        "list entries are found by their place",
        set_env._container,
        'objects.index_of(containers, field["container"])',
        "0",
        test_fault_set_env.test_the_container_is_found_by_name_wherever_it_stands,
    ),
    one(
        "what already stands counts as drift",
        restore._write_back,
        "other = now not in (item.fault, item.standing)",
        "other = now != item.fault",
        KILLED,
        "fresh",
        _unheard,
    ),
    one(
        "the holder is named after its host",
        acquire.acquire,
        "mine = f\"{identity.get('host', 'unknown')}-{holder.value}\"",
        "mine = str(identity.get('host', 'unknown'))",
        STOPPED,
        "used",
        0,
        _unheard,
    ),
    one(
        "a record of another cluster is applied",
        restore._kind,
        "if item.cluster and item.cluster != held.cluster:",
        "if False:",
        test_lease_restore.test_a_record_of_another_cluster_is_not_applied,
    ),
    one(
        "requests may outlast the tenure",
        held.renew,
        "min(view.REQUEST_S, left_s)",
        "view.REQUEST_S",
        test_lease_held.test_the_last_requests_are_shorter_than_what_is_left_of_the_tenure,
    ),
    one(
        "a released Lease is not repaired",
        protocol._taken,
        "(yield from _repair(held, earlier))",
        "((yield from _repair(held, earlier)) if earlier is None or earlier.holder else [])",
        test_lease_restore.test_a_restore_that_does_not_settle_stays_recorded_and_a_later_take_clears_it,
    ),
    one(
        "a record that is left is not marked at the release",
        protocol._release,
        '"true" if held.records else None',
        "None",
        test_lease_protocol.test_a_record_that_is_left_makes_take_fail_with_exit_3_and_the_lease_is_free_for_the_next,
    ),
    one(
        "attempts are not counted",
        restore.restore,
        'item.at("restoring", tried=True)',
        'item.at("restoring")',
        test_lease_restore.test_attempts_are_counted_across_acquisitions,
    ),
    # -- outside of the API server
    one(
        "outside: the value is read without a claim",
        outside.claimed,
        """effect.Claim(
            kind.name, objects.ref_of(thing), field, held.domain, held.fence, min(view.REQUEST_S, left_s)
        )""",
        "effect.Sense(kind.name, objects.ref_of(thing), field)",
        KILLED_OUTSIDE,
        _unheard,
    ),
    one(
        "outside: a repair looks without a claim",
        restore._write_back,
        "thing = yield from outside.claimed(held, kind, item.field, thing)",
        "_, thing = yield from outside.sensed(kind, item.field, thing, item.name)",
        KILLED_OUTSIDE,
        _unheard,
    ),
    one(
        "outside: claimed only after the change",
        outside.change,
        "        thing = yield from claimed(held, kind, item.field, thing)\n",
        "        _, thing = yield from sensed(kind, item.field, thing, item.name)\n"
        "        if item.key in objects.annotations_of(thing) and kind.read(thing, item.field) == item.fault:\n"
        "            thing = yield from claimed(held, kind, item.field, thing)\n",
        test_lease_outside.test_it_is_recorded_then_claimed_then_noted_on_the_target_and_only_then_changed,
    ),
    one(
        "outside: a place that compares no fence",
        api.Api.alter,
        'if before["fence"] != fence:',
        "if False:",
        STOPPED_OUTSIDE,
        1,
        _unheard,
    ),
    one(
        "outside: a place without a fence takes every change",
        api.Api.alter,
        'if before["fence"] != fence:',
        'if before["fence"] > fence:',
        test_lease_outside.test_a_place_without_a_fence_refuses_every_change,
    ),
    Mutant(
        "outside: a place whose fence can sink",
        (
            Edit(api.Api.claim, 'if before["fence"] > fence:', "if False:"),
            Edit(api.Api.claim, 'if before["fence"] < fence:', 'if before["fence"] != fence:'),
        ),
        STOPPED_OUTSIDE,
        (1, _unheard),
    ),
    Mutant(
        "a step that a signal ended is not in doubt",
        (
            Edit(targets.write, "doubt_before, held.in_doubt = held.in_doubt, True", "doubt_before = held.in_doubt"),
            Edit(outside.alter, "doubt_before, held.in_doubt = held.in_doubt, True", "doubt_before = held.in_doubt"),
        ),
        test_lease_outside.test_a_change_in_whose_step_a_signal_came_is_in_doubt,
        ("act",),
    ),
    one(
        "outside: a refused claim is only asked again",
        outside.claimed,
        "if isinstance(reply, effect.No) and reply.status == 409:",
        "if False:",
        test_lease_outside.test_a_place_that_counts_higher_than_our_lease_is_passed_by_raising_our_own_fence,
    ),
    one(
        "outside: a refused claim counts as granted",
        outside.claimed,
        "        if isinstance(reply, effect.No) and reply.status == 409:\n",
        "        if isinstance(reply, effect.No) and reply.status == 409:\n"
        "            seen = yield effect.Sense(kind.name, objects.ref_of(thing), field)\n"
        '            return {**thing, kinds.OUTSIDE: seen.thing["value"]}\n'
        "        if False:\n",
        test_lease_outside.test_a_place_that_counts_higher_than_our_lease_is_passed_by_raising_our_own_fence,
    ),
    one(
        "outside: a claim in doubt is forgotten",
        outside.claimed,
        "held.in_doubt = doubt_before or isinstance(reply, effect.Lost)",
        "held.in_doubt = doubt_before",
        test_lease_outside.test_a_late_claim_of_a_dead_holder_does_not_bring_its_number_back_to_a_place_that_lost_its_fence,
    ),
    one(
        "outside: a change in doubt counts as not done",
        outside.alter,
        "held.in_doubt = doubt_before or isinstance(reply, effect.Lost)",
        "held.in_doubt = doubt_before",
        TROUBLED_OUTSIDE,
        _unheard,
    ),
    one(
        "outside: changed before the copy is on the target",
        outside.change,
        "        if not noted:\n            copy =",
        "        if not noted:\n"
        '            reply = yield from alter(held, kind, item, value, item.fault, "act")\n'
        "            value = item.fault\n            copy =",
        KILLED_OUTSIDE,
        _unheard,
    ),
    one(
        "outside: no copy of the record on the target",
        outside.change,
        "if not noted:\n            copy",
        "if False:\n            copy",
        KILLED_OUTSIDE,
        _unheard,
    ),
    one(
        "outside: another value is overwritten",
        outside.change,
        "if value != item.standing:",
        "if False:",
        test_lease_outside.test_a_value_that_changed_before_the_claim_is_not_overwritten_and_nothing_is_left,
    ),
    one(
        "outside: no renewal between stamp and change",
        outside.change,
        '        thing = yield from targets.stamped(held, item.target)\n        yield from holding.renew(held, "renew")\n',
        "        thing = yield from targets.stamped(held, item.target)\n",
        test_lease_outside.test_a_change_by_a_runner_with_the_same_fence_number_under_a_lease_made_anew_does_not_land,
        "inject",
    ),
    one(
        "outside: what cannot be taken back is written back",
        restore._write_back,
        "if kind.outside and kind.reversible and now == item.fault:",
        "if kind.outside and now == item.fault:",
        test_lease_outside.test_what_cannot_be_taken_back_is_waited_for_and_never_written,
    ),
    one(
        "outside: what cannot be taken back is not waited for",
        restore.restore,
        "if not gone:",
        "if not gone and kind.reversible:",
        KILLED_OUTSIDE,
        _unheard,
    ),
    one(
        "outside: cleared before it is verified",
        restore.restore,
        "if not gone:",
        "if not gone and not kind.outside:",
        test_lease_outside.test_it_is_claimed_put_back_and_verified_before_its_record_goes,
    ),
    one(
        "outside: a target made anew took its value with it",
        restore._write_back,
        "if kind.outside and kind.reversible and now == item.fault:",
        "if kind.outside and kind.reversible and now == item.fault and not replaced:",
        test_lease_outside.test_a_value_outlives_a_target_that_is_made_anew_and_is_put_back,
    ),
)
