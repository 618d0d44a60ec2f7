"""Running the platform: health, metrics, logs, checks around it, commands that operators call."""
