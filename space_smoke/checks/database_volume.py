"""database-volume: a folder that the server names lies on a volume that is a bound claim, so it outlives the pod."""

from __future__ import annotations

from pathlib import PurePosixPath

from space_smoke.checks import database, say
from space_smoke.model import scenario, verdict


@database.judging
def judge(check: scenario.Check, seen: database.Seen) -> verdict.Verdict:
    setting = check.arguments["folder"]
    folder = database.part(seen, "folders").get(setting)
    if not isinstance(folder, str):
        return say.unknown(check, f"the server did not say its {setting}", [seen.index])
    within = [
        mount for mount in database.rows(seen, "mounts") if PurePosixPath(folder).is_relative_to(str(mount.get("path")))
    ]
    nearest = max(within, key=lambda mount: len(str(mount.get("path"))), default=None)
    expected = f"{folder} to lie on a bound claim"
    if nearest is None:
        return say.failed(check, expected, "it lies on no volume at all", [seen.index])
    if nearest.get("source") != "persistentVolumeClaim":
        words = f"it lies on volume {nearest.get('volume')}, which is an {nearest.get('source')}"
        return say.failed(check, expected, words, [seen.index])
    if nearest.get("phase") != "Bound":
        return say.failed(check, expected, f"claim {nearest.get('claim')} is {nearest.get('phase')}", [seen.index])
    return say.passed(check, f"{folder} lies on the claim {nearest.get('claim')}, which is bound", [seen.index])


KIND = database.kind(
    "database-volume",
    "a folder of the server lies on a volume that is a bound claim",
    judge,
    folder={
        "enum": ["data_directory", "unix_socket_directories"],
        "description": "the setting that names it",
    },
)
