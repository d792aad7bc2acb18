"""What holds between chart telemetry and the charts whose services and sandboxes it looks at."""

from __future__ import annotations

import re

import pytest
import yaml

from space_smoke.bench import cache, releases
from space_smoke.bench import telemetry as backends
from space_smoke.charts import render
from space_smoke.tests.render import claims, reading, telemetry, test_together

MANIFEST = cache.PROJECT / "services" / "fleet" / "manifest.py"


def job(rendered: render.Rendered, name: str) -> dict[str, object]:
    """How one application's pods are found: the one way, with its selector."""
    (found,) = [
        one["dns_sd_configs"] for one in telemetry.scraping(rendered)["scrape_configs"] if one["job_name"] == name
    ]
    ((way,),) = (found,)
    return {**way, "selector": telemetry.discovery(rendered)[way["names"][0]]["selector"]}


@pytest.fixture
def rendered(helm: render.Renderer) -> render.Rendered:
    return helm.render(test_together.case_of(telemetry.CHART))


@pytest.mark.parametrize("chart", claims.SERVICES)
def test_a_service_is_found_by_the_labels_of_its_standing_pods_and_no_others(
    chart: str, rendered: render.Rendered, helm: render.Renderer
) -> None:
    way = job(rendered, chart)
    selector = way["selector"]
    assert isinstance(selector, dict)
    found = [
        pod for pod in reading.pods(helm.render(test_together.case_of(chart))) if selector.items() <= pod.labels.items()
    ]
    assert [(pod.owner.kind, pod.standing) for pod in found] == [("Deployment", True)]
    (container,) = found[0].spec["containers"]
    assert way["port"] in [port["containerPort"] for port in container["ports"]]


def test_a_sandbox_is_found_by_the_label_and_the_port_that_it_is_made_with(rendered: render.Rendered) -> None:
    text, way = MANIFEST.read_text(), job(rendered, "sandbox")
    ((key, value),) = dict(way["selector"]).items()  # type: ignore[call-overload]
    assert f'"{key}": "{value}"' in text
    (port,) = re.findall(r"^PORT = (\d+)$", text, re.MULTILINE)
    assert way["port"] == int(port)


def test_a_bench_with_telemetry_sends_lines_where_it_listens(rendered: render.Rendered) -> None:
    ports = {port["name"]: port["port"] for port in rendered.one("Service", telemetry.CHART)["spec"]["ports"]}
    assert ports == {"logs": backends.LOGS_PORT, "metrics": backends.METRICS_PORT}
    assert backends.SERVICE == telemetry.CHART
    wanted = f"http://{backends.SERVICE}:{backends.LOGS_PORT}/insert/opentelemetry"
    for planned in (one for stage in releases.stages(extras=("telemetry",)) for one in stage):
        told = [yaml.safe_load(path.read_text()).get("telemetry") for path in planned.values]
        sends = planned.release in claims.SERVICES
        assert (told[-1] == {"otlpEndpoint": wanted}) == sends, planned.release
