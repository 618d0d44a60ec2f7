"""Operation of the platform: health, metrics, logs, checks of the environment, and operators' commands."""
