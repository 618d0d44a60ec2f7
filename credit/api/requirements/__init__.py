"""The views of what an offer requires, and of what is due of an application."""
