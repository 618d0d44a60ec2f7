"""Pages under `/my`: a person's own applications, and their pending steps. They work without JavaScript.

The pages use the same services as the API. They show only the account's own applications, also to staff. Every button
is a form with a CSRF token. A submitted form counts against the account's rate limits.
"""
