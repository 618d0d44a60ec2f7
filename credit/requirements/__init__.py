"""An offer's requirements for its applications: data, documents, and applicants.

The requirements are terms of the offer (`application_schema`, `required_documents`, `applicant_requires`, `min_age`),
so that they are pinned with the other terms. A draft must meet the offer's current terms. A submitted application must
meet the pinned terms. An application with missing items can't be submitted. An offer without requirements accepts any
data from applicants who are at least 18 years old.
"""
