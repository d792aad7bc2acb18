"""What faults change outside of the API server. One file per kind of place; `table` says which kind of fault uses which."""
