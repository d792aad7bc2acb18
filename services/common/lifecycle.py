"""The end of a process as its parts see it: first nothing new, then nothing held open."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass(slots=True)
class Lifecycle:
    """`stopping`: unready and taking on nothing new from now on; `closing`: end what is still held open."""

    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
