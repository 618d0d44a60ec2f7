"""The desk: Django admin as the place where the platform's people work.

It is part of the kit and knows no room. A room's `admin.py` builds on `config.desk.admin` (lists that do not count a
whole table, pages whose status moves by confirmed forms), and tells the desk what it adds through registries:
`config.desk.queues` for what waits on somebody, `config.desk.timeline` for what happened to a record.

Everything goes through the model methods that the API calls. A status is never a field of a form.
"""
