"""A journal as text, above all that of a killed run."""

from __future__ import annotations

import io

from space_smoke.model import history
from space_smoke.report import text
from space_smoke.tests.unit import histories, sample_run


def shown(told: list[history.Event]) -> str:
    stream = io.StringIO()
    text.write(stream, told)
    return stream.getvalue()


def cut_within(kind: str, **data: object) -> list[history.Event]:
    """The sample run up to and with the first event of that kind and data."""
    told = sample_run.events()
    end = next(e.index for e in told if e.kind == kind and all(e.data.get(k) == v for k, v in data.items()))
    return told[: end + 1]


def test_a_killed_run_says_where_it_was_and_which_faults_were_up() -> None:
    told = shown(cut_within("load-started", load="open"))
    last = told[told.index("KILLED: the journal stops ") :]
    assert "   in phase: store-lost\n" in last
    assert "   in load: open, 0 requests so far\n" in last
    assert "   fault smoke-caps up by the journal: set-env on deployment/space-api" in last
    assert "   fault no-store up by the journal: scale on deployment/space-redis, 0 replicas\n" in last
    assert last.splitlines()[-1].startswith("next: space_smoke status")
    assert "UNFINISHED" in last


def test_a_run_killed_in_a_wait_says_what_it_waited_for() -> None:
    story = histories.Story()
    story.add("step-started", step="cluster", saying="making the cluster")
    story.add("wait-started", 2.0, saying="node dev-worker to be Ready")
    story.add("note", 5.0, sentence="later")
    told = shown(story.events)
    assert "in step: making the cluster, since 5.00 s" in told
    assert "waiting for node dev-worker to be Ready, since 3.00 s" in told
    assert "no fault up by the journal" in told


def test_a_fault_that_was_only_planned_counts_as_up() -> None:
    told = shown(cut_within("fault-planned", fault="smoke-caps"))
    assert "fault smoke-caps up by the journal" in told


def test_a_fault_that_was_restored_does_not_count() -> None:
    last = shown(cut_within("fault-restored", fault="no-store")).partition("KILLED")[2]
    assert "fault smoke-caps" in last
    assert "fault no-store" not in last


def test_a_finished_run_reads_as_it_was_printed_and_ends_with_the_open_faults() -> None:
    told = shown(sample_run.events())
    assert "KILLED" not in told
    assert told.splitlines()[-1] == "0 open faults"


def test_an_empty_history_can_be_shown() -> None:
    assert "KILLED: the journal stops 0.00 s into the run" in shown([])
