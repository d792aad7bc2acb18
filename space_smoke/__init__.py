"""End-to-end fidelity tests for Helm charts on Kind, with faults that are always put right."""

__version__ = "0.1.0"
__all__ = ["__version__"]
