"""report.html: the run on one page that needs nothing else: no network, no script. Follows light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from space_smoke.model import history, verdict
from space_smoke.report import ending, outcome, page, spend, spend_svg, svg, text, words

_LEGEND = (
    ("admitted", "admitted"),
    ("refused", "refused (429)"),
    ("open", "let through without the store"),
    ("failed", "no answer or 5xx"),
    ("plain", "not limited"),
)
_MOST_PROOF = 20


def render(run: outcome.Run) -> str:
    body = "".join(
        [*_head(run), *_summary(run), *(part for the in run.scenarios for part in _scenario(run, the)), *_steps(run)]
    )
    title = escape(f"{_result(run)}: {words.command(run.started)}")
    return page.whole(title, body)


def _result(run: outcome.Run) -> str:
    if run.killed:
        return "KILLED"
    return "PASS" if run.exit_code == 0 else f"exit {run.exit_code}"


def _head(run: outcome.Run) -> Iterator[str]:
    good = not run.killed and run.exit_code == 0
    yield f'<header><p class="badge {"good" if good else "bad"}">{escape(_result(run))}</p>'
    yield f"<h1><code>{escape(words.command(run.started))}</code></h1>"
    started = words.one_line(run.started.get("started") or "")
    took = f"took {words.seconds(run.end_s)}"
    yield f'<p class="muted">{escape(", ".join(filter(None, (words.identity(run.started), started, took))))}</p>'
    if run.killed:
        yield '<div class="card bad"><p>The run did not end: its journal stops here.</p>'
        up = [f"fault {fault.name} is up by the journal, on {fault.target}" for fault in text.faults_up(run)]
        yield _list([*text.going_on(run), *(up or ["no fault is up by the journal"])])
        yield f"<p>Next: <code>{words.NEXT_STATUS}</code></p></div>"
    elif run.exit_code:
        yield f"<p>exit {run.exit_code}: {escape(words.EXIT.get(run.exit_code, ''))}</p>"
    told = [words.repaired(data) for data in run.repaired] + [words.refused(data) for data in run.refused]
    yield _list([*told, *run.notes])
    left = words.open_faults(run.open_faults, run.open_names)
    yield f'<p class="{"good" if run.open_faults == 0 else "bad"} word">{escape(left)}</p></header>'


def _summary(run: outcome.Run) -> Iterator[str]:
    if not run.scenarios:
        return
    rows = [
        (
            f'<span class="word {_mood(the)}">{escape(the.result)}</span>',
            f'<a href="#{escape(the.id)}">{escape(the.id)}</a>',
            escape(ending.checks(the)),
            escape(words.seconds(the.seconds)),
        )
        for the in run.scenarios
    ]
    yield _table(("outcome", "scenario", "checks", "time"), rows)


def _mood(the: outcome.Scenario) -> str:
    return "good" if the.passed else ("odd" if the.result in ("SKIPPED", "BLOCKED", "FLAKY") else "bad")


def _scenario(run: outcome.Run, the: outcome.Scenario) -> Iterator[str]:
    yield f'<section id="{escape(the.id)}"><h2><span class="word {_mood(the)}">{escape(the.result)}</span> '
    yield f'{escape(the.id)}</h2><p class="claim">{escape(the.claim)}</p>'
    yield '<p class="results">' + "".join(_result_of(name, said) for name, said in _four(the)) + "</p>"
    if the.environment:
        yield '<div class="card bad"><p>The bench changed under the run, so this run proves nothing:</p>'
        yield f"{_list(the.environment)}</div>"
    if the.phases or the.loads:
        yield f'<div class="card scroll">{svg.timeline(the, run.end_s)}{_legend()}</div>'
    if the.verdicts:
        yield "<h3>Checks</h3>"
        yield from (_verdict(run, one) for one in _worst_first(the.verdicts))
    yield from _spend(run, the)
    yield from _loads(the)
    yield from _faults(the)
    for what, told in the.diagnostics:
        yield f"<details><summary>{escape(what)}</summary><pre>{escape(told)}</pre></details>"
    if not the.passed:
        yield f"<p>Again: <code>{escape(words.again(run.started, the.id, the.seed))}</code></p>"
    yield "</section>"


def _four(the: outcome.Scenario) -> list[tuple[str, str]]:
    hypothesis = verdict.outcome_of(the.verdicts).lower() if the.verdicts else "not judged"
    others = (("injection", the.injection), ("restore", the.restore), ("harness", the.harness))
    return [("hypothesis", hypothesis), *((name, said or "not known") for name, said in others)]


def _result_of(name: str, said: str) -> str:
    mood = "good" if said in ("ok", "pass") else "bad"
    return f'<span class="result"><span class="muted">{name}</span> <b class="word {mood}">{escape(said)}</b></span>'


def _worst_first(verdicts: Iterable[verdict.Verdict]) -> list[verdict.Verdict]:
    order = (verdict.Judged.FAIL, verdict.Judged.UNKNOWN, verdict.Judged.PASS)
    return sorted(verdicts, key=lambda one: order.index(one.judged))


def _verdict(run: outcome.Run, one: verdict.Verdict) -> str:
    good = one.judged == verdict.Judged.PASS
    word = one.judged if good else one.judged.upper()
    line = f'<b class="word {"good" if good else "bad"}">{word}</b> <b>{escape(one.check)}</b> {escape(one.sentence)}'
    known = run.by_index()
    events = [known[index] for index in one.proof[:_MOST_PROOF] if index in known]
    if not events:
        return f'<p class="verdict">{line}</p>'
    told = "\n".join(words.event(event.index, event.at_s, event.kind, event.data) for event in events)
    more = f"\nand {len(one.proof) - _MOST_PROOF} more" if len(one.proof) > _MOST_PROOF else ""
    opened = "" if good else " open"
    return f'<details class="verdict"{opened}><summary>{line}</summary><pre>{escape(told + more)}</pre></details>'


def _legend() -> str:
    keys = "".join(f"<span>{svg.key(looks)} {escape(told)}</span>" for looks, told in _LEGEND)
    return f'<p class="legend muted">{keys}<span>height in a load: time to answer, logarithmic</span></p>'


def _spend(run: outcome.Run, the: outcome.Scenario) -> Iterator[str]:
    panels = spend.panels(history.of_scenario(run.events, the.id))
    if not panels:
        return
    to_s = run.end_s if the.to_s is None else the.to_s
    yield "<h3>Spend</h3>"
    for panel in panels[: spend_svg.MOST_PANELS]:
        told = (f"{spend_svg.key('told')} acknowledged on all sites",) if panel.told else ()
        keys = (
            *told,
            *(
                f"{spend_svg.key(f'spend spend{number % spend_svg.STYLES}')} site {escape(site)}"
                for number, site in enumerate(panel.shown)
            ),
            *(("shaded: a fault is up",) if the.faults else ()),
        )
        yield f'<figure class="card scroll"><figcaption>Tenant <b>{escape(panel.tenant)}</b></figcaption>'
        yield spend_svg.panel(panel, the.faults, the.from_s, to_s)
        yield f'<p class="legend muted">{"".join(f"<span>{one}</span>" for one in keys)}</p></figure>'
    if len(panels) > spend_svg.MOST_PANELS:
        yield f'<p class="muted">{len(panels) - spend_svg.MOST_PANELS} further tenants are not drawn</p>'


def _loads(the: outcome.Scenario) -> Iterator[str]:
    if not the.loads:
        return
    proof = frozenset(i for one in the.verdicts if one.judged != verdict.Judged.PASS for i in one.proof)
    yield '<h3>Loads</h3><div class="panels">'
    for load in the.loads:
        yield f'<figure class="card"><figcaption><b>{escape(load.name)}</b> '
        yield f'<span class="muted">{escape(_load_words(load))}</span></figcaption>'
        if load.dots:
            yield svg.load_panel(load, proof)
        yield f'<p class="muted">{escape(_decided(load))}</p></figure>'
    yield "</div>"


def _load_words(load: outcome.Load) -> str:
    said = [load.kind, f"phase {load.phase}" if load.phase else "", words.count(len(load.dots), "request")]
    said.append(words.tally(load.statuses))
    if latencies := load.latencies_s():
        names = ("p50", "p99", "max")
        said += [f"{name} {words.milliseconds(value)}" for name, value in zip(names, latencies, strict=True)]
    if len(load.dots) > svg.MOST_DOTS:
        said.append(f"{len(svg.thinned(load.dots))} of them drawn")
    return ", ".join(filter(None, said))


def _decided(load: outcome.Load) -> str:
    return "; ".join(f"{number} x {made}" for made, number in load.decisions.items())


def _faults(the: outcome.Scenario) -> Iterator[str]:
    if not the.faults:
        return
    yield "<h3>Faults</h3>"
    rows = []
    for fault in the.faults:
        ended = f"restored at {fault.restored_s:.1f} s" if fault.restored_s is not None else "NOT RESTORED"
        up = f"up at {fault.up_s:.1f} s" if fault.up_s is not None else "never up"
        times = f"{up}, {ended}{f': {fault.error}' if fault.error else ''}"
        tight = (f'<span class="tight">{escape(cell)}</span>' for cell in (fault.name, fault.kind, fault.target))
        rows.append((*tight, escape(f"{fault.standing} -> {fault.value}"), escape(times)))
    yield _table(("fault", "kind", "target", "standing -> fault", "when"), rows)


def _steps(run: outcome.Run) -> Iterator[str]:
    if not run.steps:
        return
    yield "<section><h2>Bring-up</h2>"
    rows = []
    for step in run.steps:
        word = "not ended" if step.ok is None else ("ok" if step.ok else "FAILED")
        mood = "good" if step.ok else "bad"
        cells = (escape(step.name), escape(words.short(step.detail, 200)), escape(words.seconds(step.seconds)))
        rows.append((f'<span class="word {mood}">{word}</span>', *cells))
    yield _table(("", "step", "", "time"), rows) + "</section>"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Cells are HTML already."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _list(items: Iterable[str]) -> str:
    listed = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f"<ul>{listed}</ul>" if listed else ""
