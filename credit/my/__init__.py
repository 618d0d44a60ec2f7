"""The pages under `/my`, where applicants see and complete their own applications. They work without JavaScript.

The pages use the same services as the API. Even staff see only the applications of their own account. Every button is a
form with a CSRF token, and submitted forms count against the account's rate limits.
"""
