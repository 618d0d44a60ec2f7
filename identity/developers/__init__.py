"""The developer pages: API keys, OAuth clients, webhooks, events, and the request log. They work without JavaScript.

The API's serializers validate the forms, and the API's services execute them. The pages therefore have the same
second-factor requirements, and access only data of the logged-in account. A secret appears only on the page after its
creation.
"""
