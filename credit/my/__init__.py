"""Pages under `/my`: a person's own applications, and what is due from them. They work without JavaScript.

The pages use the same services as the API, and show only the account's own applications, also to staff. Every button is
a form with a token against forgery, and counts for the account's limits as a request does.
"""
