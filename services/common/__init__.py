"""What every service shares: settings read from the environment, JSON log lines, and the named mutations."""
