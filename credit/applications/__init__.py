"""Applications: creation, transitions by `machine.MACHINE`, access for reviewers, and acceptance of approvals.

Only `Application.transition_to` changes a status. The events are `application.created`, `.updated`, `.accepted`, and
one for each new status.
"""
