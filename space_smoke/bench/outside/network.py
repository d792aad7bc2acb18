"""network-drop and network-loss: packet filter rules in the network namespace of a Kind node.

Both network plugins that benches have (the built image's and kindnet) join pods to their node by a routed pair of
interfaces, so every packet of a pod is forwarded by the node, also to a pod beside it, with the pods' own addresses and,
for a Service, after the address was chosen. That is where the rules are: table mangle, FORWARD. The fence is a file in
the node (/var/lib/space-smoke), which lasts as long as the node's container; the rules last until it is stopped.
"""

from __future__ import annotations

from space_smoke import errors
from space_smoke.bench import engine, kube, wait
from space_smoke.bench.outside import ends, node_script, nodes, place, scripted
from space_smoke.model import kinds, objects

_WORDS = {"true": True, "false": False}
_FEW, _MANY = 3, 40  # packets per look; at a loss of a hundredth, one look in three sees one dropped
_ANSWER_S = 0.3


class Network(scripted.Scripted):
    """The value is {"rules": true | false | "altered"}. Completed fields are as in ends.completed, with the node
    container's id."""

    def __init__(self, cluster: kube.Kube) -> None:
        self._cluster = cluster

    def sense(self, ref: objects.Ref, field: place.Field) -> tuple[place.Field, objects.Json]:
        if "chain" not in field:
            seen = nodes.running(self._cluster, ref, field["container"])
            pods = ends.running(self._cluster.listed("v1", "Pod"))
            whole = ends.completed(field, ref.name, pods, self._cluster.listed("v1", "Node"))
            field = {**whole, "id": seen["Id"]}
        return field, self._looked(field)

    def settled(self, ref: objects.Ref, field: place.Field, expect: objects.Json) -> wait.State:
        """The rules are in effect once they were seen to drop a packet (and, where only some are lost, to pass one): the
        sender that was chosen sends some at every look. They are gone when nothing of them is left in the node."""
        thing = self._cluster.read(ref)
        value = self._looked(field)
        shown = {**thing, kinds.OUTSIDE: value}
        if value != expect:
            return wait.State(False, f"the rules in {ref.name} are: {self._word(value)}", hopeless=True)
        if not expect["rules"]:
            return wait.State(True, "the rules are gone", thing=shown)
        try:
            _send(field)
            dropped, passed = _counted(field)
        except errors.CommandFailed as error:
            return wait.State(False, f"no packet could be sent: {error.output.splitlines()[-1:] or error.message}")
        words = f"{dropped} packets dropped, {passed} passed"
        return wait.State(dropped > 0 and (passed > 0 or ends.certain(field)), words, thing=shown)

    def watching(self, ref: objects.Ref) -> place.Watched:
        return ()

    def _asked(
        self, verb: str, field: place.Field, domain: str, fence: int, before: str, after: str, timeout_s: float
    ) -> objects.Json:
        more = [field["chain"], ends.verdict(field), f"{field.get('for_s', 0):g}", *ends.matches(field)]
        word = scripted.in_node(node_script.RULES, field, verb, domain, fence, before, after, more, timeout_s)
        return {"rules": _WORDS.get(word, word)}

    def _word(self, value: objects.Json) -> str:
        rules = value["rules"]
        return str(rules).lower() if isinstance(rules, bool) else str(rules)


def _send(field: place.Field) -> None:
    sender = field["sender"]
    protocol, port = ends.probe(field)
    burst = _FEW if ends.certain(field) else _MANY
    told = [sender["address"], sender["to"], protocol, str(port), str(burst), f"{_ANSWER_S:g}"]
    engine.docker("exec", sender["container"], "bash", "-c", node_script.SEND, "bash", *told, timeout_s=scripted.LOOK_S)


def _counted(field: place.Field) -> tuple[int, int]:
    """How many packets the rules dropped and passed since they were made."""
    said = engine.docker(
        "exec", field["id"], "iptables", "-w", "5", "-t", "mangle", "-vnxL", field["chain"], timeout_s=scripted.LOOK_S
    )
    return count(said.stdout, "DROP"), count(said.stdout, "RETURN")


def count(listing: str, target: str) -> int:
    """Packets that rules with this target counted, in what `iptables -vnxL CHAIN` prints: packets, bytes, target, ..."""
    lines = [line.split() for line in listing.splitlines()]
    return sum(int(words[0]) for words in lines if len(words) > 2 and words[0].isdecimal() and words[2] == target)
