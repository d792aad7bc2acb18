"""The server inside a sandbox pod: runs commands, and freezes and thaws what they left running.

Standard library only, because it must be ready within 0.3 s of its container's start.
"""
