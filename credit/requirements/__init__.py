"""An offer's requirements on an application: members of its data, documents, and applicants.

An offer declares it as terms (`application_schema`, `required_documents`, `applicant_requires`, `min_age`), so that it
is pinned with them. A draft goes by the offer as it is, what was submitted by the pinned one. Nothing is submitted
while something is due; an offer that declares nothing takes any data of people who are 18. It has no states and no
events.
"""
