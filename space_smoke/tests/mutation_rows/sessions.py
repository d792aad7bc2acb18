"""One caller's steps on one sandbox."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.tests.mutation_rows.shape import Row, Spoiling

ROWS: Sequence[Row] = (
    Row(
        "ecw.command_round_trip", "answers session", "a shell takes the command's words apart", "command-through-shell"
    ),
    Row(
        "ecw.command_round_trip",
        "answers session",
        "the command ends with another code",
        spoiling=Spoiling(("phases", 0, "loads", 0, "steps", 3, "command", 2), "echo out; echo err >&2; exit 6"),
    ),
    Row(
        "ecw.sandbox_info",
        "answers life",
        "the sandbox is paused where it should be deleted",
        spoiling=Spoiling(("phases", 0, "loads", 0, "steps", 2), {"do": "pause"}),
    ),
    Row(
        "ecw.pause_connect", "answers session", "a pause ends processes and empties the workspace", "pause-loses-state"
    ),
    Row("ecw.pause_connect", "answers session", "a paused sandbox's processes go on", "pause-keeps-running"),
    Row(
        "ecw.pause_connect",
        "answers session",
        "the sandbox is not left alone for as long as is claimed",
        spoiling=Spoiling(("phases", 0, "loads", 0, "steps", 6, "for"), "1s"),
    ),
    Row("ecw.filesystem_round_trip", "answers files", "a path may lead out of the workspace", "path-traversal-allowed"),
    Row("ecw.filesystem_round_trip", "answers files", "a file is written piece by piece, in place", "files-not-atomic"),
)
