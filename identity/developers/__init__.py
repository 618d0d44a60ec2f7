"""The developers' page: keys, OAuth clients, webhooks, events and the log of requests, in a browser, without a script.

It has no rules of its own. The API's serializers parse the forms and its services answer them, with the second factor
where they require it, for the logged-in person's own account alone. A secret stands on the answer to the form that made
it, and nowhere else.
"""
