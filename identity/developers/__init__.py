"""The developers' page: keys, OAuth clients, webhooks, events and the log of requests, in a browser, without a script.

It has no rules of its own. Forms are read by the serializers of the interface and answered by the same services, with
the second factor where they ask for it, for whoever is logged in, and for their own account alone. A secret stands on
the answer to the form that made it, and nowhere else.
"""
