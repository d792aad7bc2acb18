"""Pure judges of rendered objects: each takes a render and returns what is wrong, one sentence per place.

They hold for any chart of ours. The table that names them, and the planted faults that turn each of them red, are in
`claims` and `broken/`.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping

from space_smoke.charts import render
from space_smoke.tests.render import reading

GROUP = "space-smoke.dev/group"
_VERSIONED = ("helm.sh/chart", "app.kubernetes.io/version")
_LABELS = ("name", "instance", "component", "part-of", "managed-by", "version")
_BUDGET_MILLICPU = 250  # of a bench's two cores, for the standing pods of one chart
_SERVER_MADE = {"default"}  # ServiceAccounts that every namespace has
_CRD = "CustomResourceDefinition"  # Helm takes crds/ as it is, without templates
_CLUSTER_WIDE = {_CRD, "ClusterRole", "ClusterRoleBinding", "GridNetwork", "GridSite", "InferenceProvider"}


def _within(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return selector.items() <= labels.items()


def selectors_match_pods(rendered: render.Rendered) -> Iterator[str]:
    made = list(reading.pods(rendered))
    for pod in made:
        selector = pod.owner.body["spec"].get("selector", {}).get("matchLabels", {})
        if pod.standing and not (selector and _within(selector, pod.labels)):
            yield f"{pod.owner}: its selector {dict(selector)} does not match its own pods {dict(pod.labels)}"
        for other in made:
            if pod.standing and other is not pod and _within(selector, other.labels):
                yield f"{pod.owner}: its selector also matches the pods of {other.owner}"
    for item in rendered.objects:
        if item.kind == "Service" and not reading.finds_others(item):
            matched = [pod for pod in made if _within(item.body["spec"]["selector"], pod.labels)]
            if [pod.standing for pod in matched] != [True]:
                yield f"{item}: selects {[str(pod.owner) for pod in matched]}, not one set of standing pods"


def ports_exist(rendered: render.Rendered) -> Iterator[str]:
    named = {port["name"] for _, container, _ in reading.containers(rendered) for port in container.get("ports", [])}
    for item in rendered.objects:
        if item.kind == "Service" and not reading.finds_others(item):
            for port in item.body["spec"]["ports"]:
                if port["targetPort"] not in named:
                    yield f"{item}: targetPort {port['targetPort']} is no port of a container"
    for _, container, where in reading.containers(rendered):
        for name, probe in container.items():
            if name.endswith("Probe"):
                action = probe.get("httpGet") or probe.get("tcpSocket") or {}
                if action and action["port"] not in named:
                    yield f"{where}: {name} asks port {action['port']}, which is no port of a container"


def images_are_pinned(rendered: render.Rendered) -> Iterator[str]:
    for _, container, where in reading.containers(rendered):
        name, _, digest = str(container["image"]).partition("@")
        tag = name.rpartition("/")[2].partition(":")[2]
        if tag == "latest" or not (tag or digest):
            yield f"{where}: image {container['image']} is not pinned by a tag or a digest"


def images_are_pulled_only_when_missing(rendered: render.Rendered) -> Iterator[str]:
    for _, container, where in reading.containers(rendered):
        if container.get("imagePullPolicy") not in ("IfNotPresent", "Never"):
            yield f"{where}: imagePullPolicy is {container.get('imagePullPolicy')}"


def nothing_is_null(rendered: render.Rendered) -> Iterator[str]:
    def walk(value: object, path: str) -> Iterator[str]:
        if value is None:
            yield f"{path} is null"
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                yield from walk(inner, f"{path}.{key}")
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                yield from walk(inner, f"{path}[{index}]")

    for item in rendered.objects:
        yield from walk(item.body, str(item))


def labels_are_complete(rendered: render.Rendered) -> Iterator[str]:
    for item in rendered.objects:
        labels = item.body["metadata"].get("labels", {})
        wanted = ["helm.sh/chart", *(f"app.kubernetes.io/{name}" for name in _LABELS)]
        missing = [name for name in wanted if not isinstance(labels.get(name), str)]
        if missing and item.kind != _CRD:
            yield f"{item}: lacks the labels {missing}"


def pods_do_not_follow_the_version(rendered: render.Rendered) -> Iterator[str]:
    for pod in reading.pods(rendered):
        if not pod.standing:
            continue
        metadata = [pod.labels, pod.annotations, pod.owner.body["spec"]["selector"]["matchLabels"]]
        metadata += [
            claim["metadata"].get("labels", {}) for claim in pod.owner.body["spec"].get("volumeClaimTemplates", [])
        ]
        for key in {key for mapping in metadata for key in mapping}:
            if key in _VERSIONED or key.startswith("checksum/"):
                yield f"{pod.owner}: {key} would restart the pods, or be refused, without a change that needs it"


def containers_are_restricted(rendered: render.Rendered) -> Iterator[str]:
    for pod, container, where in reading.containers(rendered):
        of_pod, own = pod.spec.get("securityContext", {}), container.get("securityContext", {})
        rules = {
            "runAsNonRoot": of_pod.get("runAsNonRoot") is True,
            "a numeric runAsUser": isinstance(of_pod.get("runAsUser"), int) and of_pod["runAsUser"] > 0,
            "seccompProfile RuntimeDefault": of_pod.get("seccompProfile", {}).get("type") == "RuntimeDefault",
            "no privilege escalation": own.get("allowPrivilegeEscalation") is False,
            "a read-only root": own.get("readOnlyRootFilesystem") is True,
            "all capabilities dropped": own.get("capabilities", {}).get("drop") == ["ALL"],
        }
        broken = [rule for rule, kept in rules.items() if not kept]
        if broken:
            yield f"{where}: lacks {', '.join(broken)}"


def resources_fit_the_bench(rendered: render.Rendered) -> Iterator[str]:
    total = 0
    for pod, container, where in reading.containers(rendered):
        resources = container.get("resources", {})
        requests = resources.get("requests", {})
        if not {"cpu", "memory"} <= requests.keys() or "memory" not in resources.get("limits", {}):
            yield f"{where}: needs requests of cpu and memory, and a limit of memory"
        elif not str(requests["cpu"]).endswith("m"):
            yield f"{where}: requests {requests['cpu']} cpu, a whole core or more"
        elif pod.standing:
            total += int(str(requests["cpu"])[:-1]) * pod.owner.body["spec"]["replicas"]
    if total > _BUDGET_MILLICPU:
        yield f"the standing pods request {total}m cpu, more than {_BUDGET_MILLICPU}m"


def pods_stay_in_their_node_group(rendered: render.Rendered) -> Iterator[str]:
    for pod in reading.pods(rendered):
        if not pod.spec.get("nodeSelector", {}).get(GROUP):
            yield f"{pod.owner}: its pods may run on any node"


def pods_get_no_service_links(rendered: render.Rendered) -> Iterator[str]:
    for pod in reading.pods(rendered):
        if pod.spec.get("enableServiceLinks") is not False:
            yield f"{pod.owner}: gets variables like SPACE_REDIS_PORT, which services would read as settings"


def tokens_go_only_to_named_accounts(rendered: render.Rendered) -> Iterator[str]:
    for pod in reading.pods(rendered):
        if pod.spec.get("automountServiceAccountToken") is not ("serviceAccountName" in pod.spec):
            yield f"{pod.owner}: automountServiceAccountToken is {pod.spec.get('automountServiceAccountToken')}"


def environment_is_sound(rendered: render.Rendered) -> Iterator[str]:
    for _, container, where in reading.containers(rendered):
        names = collections.Counter(entry["name"] for entry in container.get("env", []))
        for name, count in names.items():
            if count > 1:
                yield f"{where}: {name} is set {count} times"
        for entry in container.get("env", []):
            if "value" in entry and not (isinstance(entry["value"], str) and entry["value"]):
                yield f"{where}: {entry['name']} is {entry['value']!r}, not a text"


def standing_pods_are_probed(rendered: render.Rendered) -> Iterator[str]:
    for pod, container, where in reading.containers(rendered):
        if pod.standing and not {"readinessProbe", "livenessProbe"} <= container.keys():
            yield f"{where}: needs a readiness and a liveness probe"


def objects_name_their_namespace(rendered: render.Rendered) -> Iterator[str]:
    for item in rendered.objects:
        wanted = None if item.kind in _CLUSTER_WIDE else rendered.case.namespace
        if item.body["metadata"].get("namespace") != wanted:
            yield f"{item}: namespace {item.body['metadata'].get('namespace')}"


def objects_are_told_apart(rendered: render.Rendered) -> Iterator[str]:
    for (kind, name), count in collections.Counter((item.kind, item.name) for item in rendered.objects).items():
        if count > 1:
            yield f"{kind}/{name} is rendered {count} times"


def volumes_exist(rendered: render.Rendered) -> Iterator[str]:
    for pod, container, where in reading.containers(rendered):
        claims = pod.owner.body["spec"].get("volumeClaimTemplates", [])
        named = {volume["name"] for volume in pod.spec.get("volumes", [])} | {c["metadata"]["name"] for c in claims}
        for mount in container.get("volumeMounts", []):
            if mount["name"] not in named:
                yield f"{where}: mounts {mount['name']}, which is no volume of the pod"


def _needs(pod: reading.Pod) -> set[tuple[str, str]]:
    found = {("ServiceAccount", pod.spec.get("serviceAccountName", "default"))}
    for container in pod.containers:
        for entry in container.get("env", []):
            secret = entry.get("valueFrom", {}).get("secretKeyRef")
            if secret:
                found.add(("Secret", secret["name"]))
    for volume in pod.spec.get("volumes", []):
        if "secret" in volume:
            found.add(("Secret", volume["secret"]["secretName"]))
        if "configMap" in volume:
            found.add(("ConfigMap", volume["configMap"]["name"]))
    return found


def accounts_exist(rendered: render.Rendered) -> Iterator[str]:
    accounts = {item.name for item in rendered.objects if item.kind == "ServiceAccount"} | _SERVER_MADE
    roles = {item.name for item in rendered.objects if item.kind == "Role"}
    for pod in reading.pods(rendered):
        for kind, name in _needs(pod):
            if kind == "ServiceAccount" and name not in accounts:
                yield f"{pod.owner}: runs as {name}, which nobody made"
    for item in rendered.objects:
        if item.kind == "RoleBinding":
            for subject in item.body["subjects"]:
                if subject["name"] not in accounts or subject.get("namespace") != rendered.case.namespace:
                    yield f"{item}: binds {subject['name']} of {subject.get('namespace')}, which is not this release's"
            if item.body["roleRef"]["name"] not in roles:
                yield f"{item}: refers to the role {item.body['roleRef']['name']}, which is not rendered"


def hooks_need_nothing_of_the_release(rendered: render.Rendered) -> Iterator[str]:
    later = {(item.kind, item.name) for item in rendered.objects if not reading.hooks(item)}
    for pod in reading.pods(rendered):
        if {"pre-install", "pre-upgrade"} & set(reading.hooks(pod.owner)):
            for kind, name in _needs(pod) & later:
                yield f"{pod.owner}: runs before {kind}/{name} of the same release exists"


def a_helm_test_is_there_and_cleans_up(rendered: render.Rendered) -> Iterator[str]:
    tests = [item for item in rendered.objects if "test" in reading.hooks(item)]
    if not tests:
        yield "no object is a helm test"
    for item in rendered.objects:
        policy = item.body["metadata"].get("annotations", {}).get("helm.sh/hook-delete-policy", "")
        if reading.hooks(item) and set(policy.split(",")) != {"before-hook-creation", "hook-succeeded"}:
            yield f"{item}: hook-delete-policy {policy!r} leaves a passed one behind, or a failed one in the next one's way"
    for pod in reading.pods(rendered):
        if reading.hooks(pod.owner) and not (
            pod.spec.get("activeDeadlineSeconds") or pod.owner.body["spec"].get("activeDeadlineSeconds")
        ):
            yield f"{pod.owner}: may run for ever"


def extras_are_merged(rendered: render.Rendered) -> Iterator[str]:
    for item in rendered.objects:
        template = item.body.get("spec", {}).get("template", item.body)
        selector = template.get("spec", {}).get("nodeSelector")
        if item.kind in ("Deployment", "StatefulSet", "Job", "Pod"):
            wanted = {"space-smoke.dev/group": "infra", "disk": "fast"}
            yield from reading.unless(selector == wanted, f"{item}: nodeSelector is {selector}")


def emptied_groups_leave_no_selector(rendered: render.Rendered) -> Iterator[str]:
    yield from reading.unless("nodeSelector:" not in rendered.text, "a nodeSelector is rendered")


def a_digest_is_part_of_the_image(rendered: render.Rendered) -> Iterator[str]:
    yield from reading.unless(f":v9@sha256:{'a' * 64}" in rendered.text, "the digest is not in any image")
