"""The developers' pages: keys, OAuth clients, webhooks, events, and the request log. They work without JavaScript.

The pages have no rules of their own. The API's serializers validate the forms, and its services execute them, with the
same second factor requirements and only for the logged-in account. A secret appears only on the page that follows its
creation.
"""
