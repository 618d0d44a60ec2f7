"""The primary is killed, paused, filled, cut off and switched over during writes; histories record what callers saw."""
