"""What can be broken on purpose. One file per kind; `kinds.KINDS` lists them. Every kind says how it is undone."""
