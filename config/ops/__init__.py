"""Code for the operation of the platform: health, metrics, logs, checks of the environment, and commands."""
