"""Judges of chart telemetry, and of what the services' charts say of it. Used by the table in `claims`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from space_smoke.charts import render
from space_smoke.tests.render import reading

CHART = "telemetry"
VARIABLE = "SPACE_OTLP_ENDPOINT"


def arguments(rendered: render.Rendered, container: str) -> dict[str, str]:
    """The flags of one of its two programs, without dashes."""
    pod = rendered.one("Deployment", CHART)["spec"]["template"]["spec"]
    (found,) = [one for one in pod["containers"] if one["name"] == container]
    pairs = [argument.lstrip("-").partition("=") for argument in found["args"]]
    return {name: value for name, _, value in pairs}


def scraping(rendered: render.Rendered) -> dict[str, Any]:
    """Prometheus' configuration."""
    read: dict[str, Any] = yaml.safe_load(rendered.one("ConfigMap", CHART)["data"]["prometheus.yml"])
    return read


def discovery(rendered: render.Rendered) -> dict[str, Mapping[str, Any]]:
    """The Services by which pods of other charts are found, by name."""
    services = [item for item in rendered.objects if item.kind == "Service" and reading.finds_others(item)]
    return {item.name: item.body["spec"] for item in services}


def both_backends_answer_at_their_fixed_addresses(rendered: render.Rendered) -> Iterator[str]:
    ports = {port["name"]: port["port"] for port in rendered.one("Service", CHART)["spec"]["ports"]}
    yield from reading.unless(ports == {"logs": 9428, "metrics": 9090}, f"the Service has the ports {ports}")
    for container, flag in (("logs", "httpListenAddr"), ("metrics", "web.listen-address")):
        listens = arguments(rendered, container).get(flag)
        yield from reading.unless(listens == f":{ports.get(container)}", f"{container} listens on {listens}")


def samples_keep_their_trace_ids(rendered: render.Rendered) -> Iterator[str]:
    features = arguments(rendered, "metrics").get("enable-feature", "")
    yield from reading.unless(features == "exemplar-storage", f"Prometheus' features are {features!r}")


def what_is_kept_fits_its_volume(rendered: render.Rendered) -> Iterator[str]:
    volumes = rendered.one("Deployment", CHART)["spec"]["template"]["spec"]["volumes"]
    limits = {volume["name"]: volume.get("emptyDir", {}).get("sizeLimit") for volume in volumes}
    for container, flag in (("logs", "retention.maxDiskSpaceUsageBytes"), ("metrics", "storage.tsdb.retention.size")):
        kept = int(arguments(rendered, container)[flag].removesuffix("MB"))
        yield from reading.unless(limits[container] == f"{2 * kept}M", f"{container}: {kept} MB in {limits[container]}")


def a_changed_configuration_restarts_prometheus(rendered: render.Rendered) -> Iterator[str]:
    text = rendered.one("ConfigMap", CHART)["data"]["prometheus.yml"].rstrip("\n")
    metadata = rendered.one("Deployment", CHART)["spec"]["template"]["metadata"]
    told = metadata.get("annotations", {}).get("space-smoke.dev/configuration")
    wanted = hashlib.sha256(text.encode()).hexdigest()[:16]
    yield from reading.unless(told == wanted, f"the pod is annotated {told!r}, and the configuration is {wanted!r}")


def each_application_is_found_by_a_headless_service(rendered: render.Rendered) -> Iterator[str]:
    services = discovery(rendered)
    for job in scraping(rendered)["scrape_configs"]:
        for found in job.get("dns_sd_configs", []):
            (name,) = found["names"]
            selector = services.get(name, {}).get("selector", {})
            yield from reading.unless(
                selector.get("app.kubernetes.io/name") == job["job_name"], f"{name} selects {selector}"
            )
            yield from reading.unless(services.get(name, {}).get("clusterIP") == "None", f"{name} is not headless")
    yield from reading.unless(len(services) == 5, f"there are {sorted(services)}")


def no_backend_is_named_by_itself(rendered: render.Rendered) -> Iterator[str]:
    yield from reading.unless(VARIABLE not in rendered.text, f"{VARIABLE} is rendered")


def a_named_backend_reaches_the_service(rendered: render.Rendered) -> Iterator[str]:
    variables = reading.environment(reading.container(rendered, "Deployment", rendered.case.release))
    told = variables.get(VARIABLE)
    yield from reading.unless(told == "http://lines.example:4318", f"{VARIABLE} is {told!r}")
