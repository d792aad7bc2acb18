"""What several services share of the product itself: sandboxes, operations and tokens in Postgres, sandboxes as pods.

Nothing here knows of HTTP routes or limiters.
"""
