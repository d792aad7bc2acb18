"""The internal API: what other services may ask about tokens and sandboxes.

It has no way to the limiter store: neither a setting for it nor a client in what it imports.
"""
