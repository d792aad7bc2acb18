"""What can be typed. Each verb's help says what it does, what it needs and what to type next."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn, TypeAlias

from space_smoke import __version__, errors

_EPILOG = """\
exit codes:
  0 all passed                      5 the bench or host is not fit to judge
  1 a scenario failed or is unknown 64 wrong usage or a bad scenario file
  2 refused: a live holder          70 the harness itself broke
  3 a restore is incomplete         When several apply: 70, 3, 4, 2, 1, 5.
  4 the Lease was lost

start here:
  space_smoke doctor                what this machine lacks, with the cure
  space_smoke up                    a Kind bench with everything installed
  space_smoke run --all             every scenario; the bench comes up when it is not
  space_smoke status                who holds which Lease, and what is broken on purpose right now
"""


class _Parser(argparse.ArgumentParser):
    """argparse ends with 2 on wrong usage, which means something else here."""

    def error(self, message: str) -> NoReturn:
        raise errors.UsageError(message, next_step=f"{self.prog} --help")


_Verbs: TypeAlias = "argparse._SubParsersAction[_Parser]"


def build() -> argparse.ArgumentParser:
    top = _Parser(
        prog="space_smoke",
        description="End-to-end fidelity tests for Helm charts on Kind, with faults that are always put right.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"space_smoke {__version__}")
    verbs: _Verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=_Parser)
    _bench_verbs(verbs)
    _reading_verbs(verbs)
    _running_verbs(verbs)
    return top


def _bench_verbs(verbs: _Verbs) -> None:
    doctor = verbs.add_parser("doctor", help="what this machine lacks, and the command that cures it")
    _common(doctor)
    up = verbs.add_parser("up", help="bring a Kind bench up, or verify that it is")
    _common(up)
    up.add_argument(
        "--images", choices=("auto", "pull", "build"), default="auto", help="where the node image comes from"
    )
    up.add_argument("--recreate", action="store_true", help="remove the bench first")
    up.add_argument(
        "--with",
        dest="extras",
        action="append",
        default=[],
        metavar="PART",
        help="an optional part as well, grid or telemetry; the bench keeps it until it is made again",
    )
    up.add_argument(
        "--api-port", type=int, default=0, metavar="PORT", help="host port of the API server (default: any)"
    )
    down = verbs.add_parser("down", help="remove a bench with everything that belongs to it")
    _common(down)
    down.add_argument("--all", action="store_true", help="every bench that this cache knows")


def _reading_verbs(verbs: _Verbs) -> None:
    listing = verbs.add_parser("list", help="the scenarios, chosen by name, label or shard")
    _common(listing)
    _choosing(listing)
    lint = verbs.add_parser("lint", help="all mistakes of all scenario files, each with its place; needs no cluster")
    _common(lint)
    lint.add_argument("folder", nargs="?", type=Path, help="the folder with <area>/<name>.yaml (default: scenarios)")
    lint.add_argument(
        "--write", action="store_true", help="write the generated files anew: schema and scenarios/README.md"
    )
    lint.add_argument("--schema", action="store_true", help="print the JSON Schema of scenario files, for editors")
    plan = verbs.add_parser("plan", help="what a run would do, fault by fault; needs no cluster")
    _common(plan)
    _choosing(plan)
    report = verbs.add_parser("report", help="re-judge a run from its journal and write its reports again")
    _common(report)
    report.add_argument("run", help="a run's id, its folder, or a journal file")
    report.add_argument("--runs", type=Path, default=Path("runs"), help="where runs are kept (default: runs)")


def _running_verbs(verbs: _Verbs) -> None:
    run = verbs.add_parser(
        "run",
        help="run scenarios; the bench comes up when it is not",
        description="Runs scenarios one after the other. Left-overs of dead runs are put back first; what this run breaks is "
        "put back at its end, whatever happens. Reports go to runs/<id>.",
    )
    _common(run)
    _choosing(run)
    run.add_argument("--fail-fast", action="store_true", help="stop at the first scenario that is not green")
    run.add_argument("--seed", type=int, default=0, help="seed of the loads (default: 0)")
    run.add_argument(
        "--rest",
        default="30s",
        metavar="DURATION",
        help="how long the pods of a young ReplicaSet must have been Ready before anything is judged (default: 30s)",
    )
    run.add_argument("--runs", type=Path, default=Path("runs"), help="where to keep the run's folder (default: runs)")
    status = verbs.add_parser("status", help="Leases, holders and open faults; reads only")
    _common(status)
    drill = verbs.add_parser(
        "drill",
        help="break the harness itself on purpose and prove that the bench is put right",
        description="Kills, stops and cuts off runners at steps they reached, on two light targets in namespace space-drill, "
        "and judges what is left. Says beforehand what it will write to.",
    )
    _common(drill)
    drill.add_argument("names", nargs="*", metavar="NAME", help="drills; without any and without --all they are listed")
    drill.add_argument("--all", action="store_true", help="every drill but those that take minutes each")
    drill.add_argument("--kills", type=int, default=0, metavar="N", help="and N SIGKILLs at random steps")
    drill.add_argument("--scenario", metavar="ID", help="kill whole runs of this scenario instead of light runners")
    drill.add_argument("--seed", type=int, default=0, help="seed of the random kills (default: 0)")
    load = verbs.add_parser(
        "load",
        help="drive traffic for a while and watch decisions, latency and the store; reads only",
        description="Drives a steady stream of requests against the bench's public API and shows, every second, decisions by "
        "reason, latency from the moment a request was due, and the store. For watching: it judges nothing, takes no Lease, and "
        "reads only, apart from sandboxes of its own, which it deletes at its end, also after Ctrl-C (exit 130). So it runs "
        "beside a run or a drill; its requests count in the limiters like anybody's.",
    )
    _common(load, as_json="one JSON object a second on standard output, and a last one with the key summary")
    load.add_argument(
        "--rate", metavar="N/UNIT", help="20/s, 90/m (default: 20/s for connect, 1/s for create, 20/m for session)"
    )
    load.add_argument("--for", dest="for_", default="60s", metavar="DURATION", help="how long (default: 60s)")
    load.add_argument(
        "--clients", type=int, default=4, metavar="N", help="callers client-0 to client-(N-1) (default: 4)"
    )
    load.add_argument("--seed", type=int, default=0, help="seed of whose turn it is (default: 0)")
    load.add_argument(
        "--profile",
        choices=("connect", "create", "session"),
        default="connect",
        help="connect: to one sandbox; create: a cold activation, deleted again; session: create to delete, with a pause and a "
        "wake (default: connect)",
    )
    repair = verbs.add_parser(
        "repair",
        help="put back whatever a dead run left",
        description="Puts back whatever dead runs left. What keeps failing may be given up by name: see --abandon.",
    )
    _common(repair)
    repair.add_argument(
        "--abandon",
        metavar="ID",
        help="put back what can be put back in the domain of this record; if this one cannot, remove it, and leave what it "
        "said on the Lease and as an Event. No field is changed. `status --json` shows the ids",
    )


def _common(verb: argparse.ArgumentParser, *, as_json: str = "one JSON object on standard output") -> None:
    verb.add_argument("--json", action="store_true", help=as_json)
    where = verb.add_argument_group("bench")
    where.add_argument("--name", default="space-smoke", help="the Kind bench (default: space-smoke)")
    where.add_argument(
        "--backend", choices=("kind", "context"), help="kind: a bench of ours; context: a cluster you have"
    )
    where.add_argument("--context", help="kubeconfig context of a cluster you have; implies --backend context")
    where.add_argument("--kubeconfig", type=Path, help="with --context: the file (default: as kubectl finds it)")
    where.add_argument("--namespace", default="space", help="where the releases live (default: space)")


def _choosing(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("names", nargs="*", metavar="NAME", help="scenario ids, as `space_smoke list` shows them")
    verb.add_argument("--all", action="store_true", help="every scenario")
    verb.add_argument("--label", action="append", default=[], help="`a,b`: both labels; given twice: either")
    verb.add_argument("--shard", metavar="I/N", help="the I-th of N slices, balanced by recorded durations")
    verb.add_argument("--scenarios", type=Path, help="the folder with <area>/<name>.yaml (default: the project's)")
