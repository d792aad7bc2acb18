"""All settings of the operator, read from the environment once at start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from common import database, identity, kube, settings
from grid_operator import mutations
from grid_operator.model import shared
from grid_operator.model.network import MOST_SEEDS
from swim import parameters

_PROFILES = {"kind": parameters.KIND, "lan": parameters.LAN, "wan": parameters.WAN}
_SITE = re.compile(shared.site_name("").pattern)
_NAME = re.compile(shared.OBJECT_NAME_PATTERN)
_HOST_AND_PORT = re.compile(shared.HOST_AND_PORT_PATTERN)
_HOST_AND_PORT_RULE = "must be host:port, a DNS name or an IPv4 address and a port from 1 to 65535"


@dataclass(frozen=True, slots=True)
class Config:
    """`network` names the one GridNetwork; `bind` is where the site listens, `advertise` what it tells its peers, which may
    be a name; `request_keep_s` is how long a request id is remembered."""

    own: identity.Identity
    database: database.Settings
    namespace: str
    network: str
    site: str
    gossip: parameters.Parameters
    bind: tuple[str, int]
    advertise: str
    seeds: tuple[str, ...]
    request_keep_s: int


def read(environment: Mapping[str, str]) -> Config:
    """The configuration in `environment`; raises `settings.SettingsError` listing every mistake."""
    reader = settings.Reader(environment)
    bind = _address(reader, "GRID_SWIM_BIND_ADDR", "0.0.0.0:7946")
    host, _, port = bind.rpartition(":")
    config = Config(
        own=identity.read(reader, mutations.KNOWN),
        database=database.read(reader),
        namespace=kube.read_namespace(reader),
        network=_matching(reader, "GRID_NETWORK_NAME", _NAME, 253, "must be set to the name of a GridNetwork"),
        site=_matching(reader, "GRID_SWIM_SITE_NAME", _SITE, 63, "must be set to a DNS label, one site's for ever"),
        gossip=_PROFILES[reader.choice("GRID_SWIM_PROFILE", "lan", tuple(_PROFILES))],
        bind=(host, int(port)),
        advertise=_address(reader, "GRID_SWIM_ADVERTISE_ADDR", ""),
        seeds=_seeds(reader),
        request_keep_s=reader.integer("GRID_REQUEST_KEEP_S", 7 * 86400, 3600, 365 * 86400),
    )
    reader.settle()
    return config


def _matching(reader: settings.Reader, name: str, pattern: re.Pattern[str], longest: int, rule: str) -> str:
    value = reader.text(name)
    if not pattern.fullmatch(value) or len(value) > longest:
        reader.mistake(name, value, rule)
    return value


def _address(reader: settings.Reader, name: str, default: str) -> str:
    value = reader.text(name, default)
    if _HOST_AND_PORT.fullmatch(value):
        return value
    reader.mistake(name, value, _HOST_AND_PORT_RULE)
    return "0.0.0.0:7946"


def _seeds(reader: settings.Reader) -> tuple[str, ...]:
    name = "GRID_SWIM_SEEDS"
    listed = tuple(filter(None, (part.strip() for part in reader.text(name).split(","))))
    for seed in listed:
        if not _HOST_AND_PORT.fullmatch(seed):
            reader.mistake(name, seed, f"each {_HOST_AND_PORT_RULE}")
    if len(listed) > MOST_SEEDS:
        reader.mistake(name, f"{len(listed)} seeds", f"there may be at most {MOST_SEEDS}")
    return tuple(dict.fromkeys(listed))
