"""What several kinds have in common: texts of one shape, references, durations, conditions.

Patterns keep to what Go's regexp and Python's re read alike: no \\d or \\w, no classes by property.
"""

from __future__ import annotations

from grid_operator.model.fields import Group, Listing, Number, Rule, Text

_PORT = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_HOST = f"{_LABEL}([.]{_LABEL})*"
# Python counts these as spaces and Go's \s does not: U+000B, U+001C to U+001F, U+0085 and the separators of Unicode.
_SPACES = "\\s\\x0b\\x1c-\\x1f\\x85\\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_CONTROLS = "\\x00-\\x1f\\x7f-\\x9f"

TENANT_PATTERN = f"^[^{_CONTROLS}]*[^{_SPACES}{_CONTROLS}][^{_CONTROLS}]*$"
DATA_KEY_PATTERN = "^[-._a-zA-Z0-9]+$"
OBJECT_NAME_PATTERN = f"^{_HOST}$"
HOST_AND_PORT_PATTERN = f"^{_HOST}:{_PORT}$"


def object_name(text: str, *, required: bool = False) -> Text:
    return Text(text=text, required=required, shortest=1, longest=253, pattern=OBJECT_NAME_PATTERN)


def site_name(text: str, *, required: bool = False, rules: tuple[Rule, ...] = ()) -> Text:
    """A site's name on the wire, which has room for 63 bytes."""
    return Text(text=text, required=required, shortest=1, longest=63, pattern=f"^{_LABEL}$", rules=rules)


def place(text: str) -> Text:
    """A region or a zone; "" is somewhere."""
    return Text(text=text, longest=63, pattern=f"^({_LABEL})?$")


def network_ref() -> Group:
    text = "The GridNetwork that this belongs to. An operator passes over what belongs to another."
    return Group(text=text, required=True, fields={"name": object_name("Its name.", required=True)})


def secret_key(text: str) -> Group:
    """One entry of a Secret in the namespace of the operator that reads it."""
    key = Text(text="The entry of its data.", required=True, shortest=1, longest=253, pattern=DATA_KEY_PATTERN)
    name = object_name("The Secret, in the operator's namespace.", required=True)
    return Group(text=text, fields={"name": name, "key": key})


def duration(text: str, least: str, most: str) -> Text:
    """Whole seconds or milliseconds from `least` to `most`, such as 5s or 500ms; the bounds are a CEL rule."""
    rule = Rule(
        f"duration(self) >= duration('{least}') && duration(self) <= duration('{most}')",
        f"must be from {least} to {most}",
    )
    return Text(text=text, shortest=2, longest=9, pattern="^[1-9][0-9]{0,6}(ms|s)$", rules=(rule,))


def conditions(text: str) -> Listing:
    """Conditions in the shape of meta/v1."""
    entry = Group(
        text="One condition.",
        fields={
            "type": Text(text="Which.", required=True, shortest=1, longest=316),
            "status": Text(text="Whether it holds.", required=True, choices=("True", "False", "Unknown")),
            "reason": Text(
                text="Why, in one word for programs.",
                required=True,
                shortest=1,
                longest=1024,
                pattern="^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$",
            ),
            "message": Text(text="Why, in a sentence for people.", required=True, longest=32768),
            "lastTransitionTime": Text(text="When `status` became what it is.", required=True, form="date-time"),
            "observedGeneration": generation("The generation of the resource that this is about."),
        },
    )
    return Listing(text=text, items=entry, most=16, key="type")


def generation(text: str) -> Number:
    return Number(text=text, whole=True, least=0, most=2**53 - 1)


def phase(text: str, *choices: str) -> Text:
    return Text(text=text, choices=choices)


def public_key(text: str, *, required: bool = False) -> Text:
    """32 bytes in base64, in the one way in which an encoder writes them."""
    pattern = "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$"
    return Text(text=text, required=required, shortest=44, longest=44, pattern=pattern)
