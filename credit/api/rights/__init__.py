"""An applicant's rights at an automated decision: automation, explanation, corrections."""
