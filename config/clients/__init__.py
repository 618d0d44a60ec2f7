"""Outgoing HTTP requests to vendors and webhook receivers, with time limits and size limits."""
