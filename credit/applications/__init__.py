"""Create, read, change, and expire credit applications, and conclude agreements with a right of withdrawal.

Only `Application.transition_to` changes a status. The events are `application.created`, `application.updated`,
`application.accepted`, and an event for each new status.
"""
