"""Erase applicants or facts of applications that continue."""

from credit.models import Application, LastScore, ScoreFacts


def erase_facts(user_id):
    """Delete the facts and last scores of a person; return the number of deleted facts."""
    LastScore.objects.filter(user_id=user_id).delete()
    deleted, _ = ScoreFacts.objects.filter(score__user_id=user_id).delete()
    return deleted


def erase_applicants(user_id):
    Application.objects.filter(consumer_id=user_id).update(applicants=None, applicant_index=None)
