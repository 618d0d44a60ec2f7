"""Applicants and facts that are gone, as after an erasure, in applications that go on."""

from credit.models import Application, LastScore, ScoreFacts


def erase_facts(user_id):
    """Delete what a person's scores were computed from; return how many."""
    LastScore.objects.filter(user_id=user_id).delete()
    deleted, _ = ScoreFacts.objects.filter(score__user_id=user_id).delete()
    return deleted


def erase_applicants(user_id):
    Application.objects.filter(consumer_id=user_id).update(applicants=None, applicant_index=None)
