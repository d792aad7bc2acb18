"""The field reference: a table for each kind's spec and status."""

from __future__ import annotations

from collections.abc import Iterator

from grid_operator.model import KINDS
from grid_operator.model.fields import Field, Group, Listing, Number, Text
from grid_operator.model.kind import GROUP, VERSION, Kind

_HEAD = f"""\
# Resources of the grid

Generated from `services/grid_operator/model` by `python -m grid_operator.resources write`; a test compares them.
Group `{GROUP}`, version `{VERSION}`, cluster-scoped, each with a status subresource. Names marked `*` are required where
they stand; `[]` is each item of a list.
"""


def document() -> str:
    """The whole page, Markdown."""
    return _HEAD + "".join(_section(kind) for kind in KINDS)


def _section(kind: Kind) -> str:
    lines = [f"\n## {kind.name} (`kubectl get {kind.short}`)\n\n{kind.text}\n"]
    for name, group in (("spec", kind.spec), ("status", kind.status)):
        lines.append(f"\n### {kind.name}: {name}\n\n{group.text}\n\n| field | value | meaning |\n|---|---|---|\n")
        lines += [f"| `{path}` | {value} | {text} |\n" for path, value, text in rows(group)]
    return "".join(lines)


def rows(group: Group, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """(path, what may stand there, meaning) of every field below `group`, in order."""
    for name, field in group.fields.items():
        path = f"{prefix}{name}{'*' if field.required else ''}"
        yield path, _value(field).replace("|", "\\|"), " ".join([field.text, *_rules(field)])
        inner = field.items if isinstance(field, Listing) else field
        if isinstance(inner, Group):
            yield from rows(inner, f"{path}{'[]' if isinstance(field, Listing) else ''}.")


def _rules(field: Field) -> list[str]:
    return [f"Admission: {rule.message}." for rule in field.rules]


def _value(field: Field) -> str:
    if isinstance(field, Listing):
        one = f"; told apart by `{field.key}`" if field.key else "; no item twice" if field.distinct else ""
        inner = "objects" if isinstance(field.items, Group) else _value(field.items)
        return f"{field.least} to {field.most} of: {inner}{one}"
    if isinstance(field, Number):
        default = "" if field.default is None else f"; {field.default} when left out"
        return f"{'whole number' if field.whole else 'number'} from {field.least} to {field.most}{default}"
    return _text(field) if isinstance(field, Text) else "object"


def _text(field: Text) -> str:
    if field.choices:
        return ", ".join(f"`{choice}`" for choice in field.choices)
    if field.form:
        return field.form
    length = f"{field.shortest} to {field.longest}" if field.shortest != field.longest else str(field.longest)
    return f"text of {length} characters"
