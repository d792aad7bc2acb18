"""Settings shared by all tests."""

from __future__ import annotations

from hypothesis import settings

# The machine may be busy: how long one example takes says nothing about the property.
settings.register_profile("steady", deadline=None, print_blob=True)
settings.load_profile("steady")
