"""Outgoing HTTP requests to vendors and webhook receivers, with deadlines and size limits."""
