"""The grid's operator: what a site has spent and whom it reaches, kept in its GridNetwork's status.

`model` says what the three resources are; the CRDs, the schema of chart grid-site and the field reference are generated
from it by `python -m grid_operator.resources write`. `policy`, `budget`, `conditions` and `status` are pure.
"""
