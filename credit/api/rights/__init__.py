"""The rights of an applicant in automated decisions: information, explanation, corrections."""
