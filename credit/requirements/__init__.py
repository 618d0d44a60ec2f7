"""An offer's requirements on applications: data, documents, and applicants.

An offer declares them as terms (`application_schema`, `required_documents`, `applicant_requires`, `min_age`), so that
they are pinned with the other terms. A draft uses the offer's current terms, a submitted application the pinned terms.
An application with missing items can't be submitted. An offer without requirements accepts any data from applicants of
at least 18 years. The package has no statuses and no events.
"""
