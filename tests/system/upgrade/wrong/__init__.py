"""Five wrong migrations that the upgrade tests must report. Tests replace PREDECESSOR."""
