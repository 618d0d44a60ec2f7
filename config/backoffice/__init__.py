"""The back office: Django admin as the place where the platform's people work.

It is shared code and knows no app. An app's `admin.py` builds on `config.backoffice.admin` (lists that do not count a
whole table, pages whose status moves by confirmed forms), and tells the back office what it adds through registries:
`config.backoffice.queues` for what waits on somebody, `config.backoffice.timeline` for what happened to a record.

Everything goes through the model methods that the API calls. A status is never a field of a form.
"""
