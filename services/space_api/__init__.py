"""The ECW API: create, inspect, command, pause, connect and delete sandboxes, admitting its own requests.

`python3 -m space_api` serves it, `python3 -m space_api.migrate` prepares its database.
"""
