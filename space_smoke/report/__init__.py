"""What became of a run, for people and machines; read from its events and from nothing else."""

from space_smoke.report.files import write_all

__all__ = ["write_all"]
