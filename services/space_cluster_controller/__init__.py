"""Performs what the native API queued: one leader claims operations, admits activations, and drives sandbox pods."""
