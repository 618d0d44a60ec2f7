"""Create, read, change, and expire credit applications, and conclude agreements with a right of withdrawal.

Only `Application.transition_to` changes a status. Events: `application.created`, `application.updated`,
`application.accepted`, and an event for each status that an application enters.
"""
