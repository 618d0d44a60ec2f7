"""Pages under `/my`: a person's own applications, and what is due from them. They work without JavaScript.

The pages read and write by the same services as the interface, and show the account's own applications alone, also to
staff. Every button is a form with a token against forgery, and counts for the account's limits as a request does.
"""
