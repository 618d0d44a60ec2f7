"""Applications: made by consumers, moved through `machine.MACHINE`, read by their reviewers, accepted when approved.

Only `Application.transition_to` changes a status. The events are `application.created`, `.updated`, `.accepted`, and
one per status entered.
"""
