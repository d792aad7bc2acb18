"""The command. `parser` says what can be typed, `verbs` does it by one call each, `command` turns errors into exit codes.

Nothing heavy is imported before a verb is chosen: `--help` answers at once.
"""
