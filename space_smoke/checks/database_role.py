"""database-role: the role has none of a superuser's rights, is a member of no role that might, and owns nothing."""

from __future__ import annotations

from space_smoke.checks import database, say
from space_smoke.model import scenario, verdict

_RIGHTS = ("superuser", "creates_roles", "creates_databases", "bypasses_row_security", "replicates")


@database.judging
def judge(check: scenario.Check, seen: database.Seen) -> verdict.Verdict:
    role, owned = database.part(seen, "role"), seen.data.get("owned")
    untold = [key for key in (*_RIGHTS, "member_of") if key not in role]
    if untold or not isinstance(owned, list | tuple):
        return say.unknown(check, f"of the role it is not known: {say.some([*untold, 'what it owns'])}", [seen.index])
    rights = [right for right in _RIGHTS if role[right] is not False]
    wrong = [right.replace("_", " ") for right in rights]
    wrong += [f"is a member of {say.some(map(str, role['member_of']))}"] if role["member_of"] else []
    wrong += [f"owns {say.some(map(str, owned))}"] if owned else []
    if wrong:
        return say.failed(
            check, f"role {role.get('name')} to have no such right and to own nothing", "; ".join(wrong), [seen.index]
        )
    return say.passed(check, f"role {role.get('name')} has no special right and owns nothing", [seen.index])


KIND = database.kind(
    "database-role",
    "a role is no superuser, may not make roles or databases, and owns nothing",
    judge,
)
