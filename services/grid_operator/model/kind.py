"""One kind of resource, and its CustomResourceDefinition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grid_operator.model.fields import Group, crd_schema

GROUP, VERSION = "grid.praxis-proxy.io", "v1alpha1"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`."""

    name: str
    type: str
    path: str


@dataclass(frozen=True, slots=True)
class Kind:
    """Cluster-scoped, with a status subresource. `short` is what kubectl takes for `plural`."""

    name: str
    plural: str
    short: str
    text: str
    spec: Group
    status: Group
    columns: tuple[Column, ...]

    @property
    def file(self) -> str:
        return f"{self.plural}.yaml"

    def crd(self) -> dict[str, Any]:
        """The CustomResourceDefinition (apiextensions.k8s.io/v1)."""
        columns = [{"name": one.name, "type": one.type, "jsonPath": one.path} for one in self.columns]
        schema = {
            "description": self.text,
            "type": "object",
            "required": ["spec"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
                "spec": crd_schema(self.spec),
                "status": crd_schema(self.status),
            },
        }
        version = {
            "name": VERSION,
            "served": True,
            "storage": True,
            "subresources": {"status": {}},
            "additionalPrinterColumns": columns,
            "schema": {"openAPIV3Schema": schema},
        }
        names = {
            "kind": self.name,
            "listKind": f"{self.name}List",
            "plural": self.plural,
            "singular": self.name.lower(),
            "shortNames": [self.short],
        }
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self.plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Cluster", "names": names, "versions": [version]},
        }
