"""Test that a data export contains everything in the privacy register, and nothing about another person."""

import json
from io import BytesIO, StringIO
from zipfile import ZipFile

import pytest
from allauth.account.models import EmailAddress
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.utils import timezone

from config.core import privacy
from config.core.casework import Note
from config.core.export import UNREADABLE, write_export
from config.mail.erasure import erase_mails
from config.mail.models import OutgoingMail
from config.mail.outbox import queue_mail
from credit.core.applicants import Applicants
from credit.documents import storage
from credit.export import LOST
from credit.models import (
    ApplicationHistory,
    Counteroffer,
    DocumentFile,
    LoanTerms,
    Notice,
    Proposal,
    Report,
    RequestedDocument,
    Score,
    ScoreFacts,
)
from identity.accounts.models import ManagedAccount
from tests.config.test_unreadable import lose_the_key
from tests.credit.applicants import PERSON, changed
from tests.factories import ApplicationFactory, ModelVersionFactory, UserFactory
from tests.flows.markers import NOW, Planter, personal_tables, places_of
from tests.flows.test_erasure import MINE, planted

pytestmark = pytest.mark.django_db


def exported(user, **options):
    file = BytesIO()
    write_export(user.pk, file, now=timezone.now(), **options)
    with ZipFile(file) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def person():
    return UserFactory()


def secret_fields():
    return {
        f"{model._meta.label}.{name}"
        for model in personal_tables()
        for name, treatment in privacy.personal_fields(model).items()
        if not treatment.is_exported
    }


def test_data_export_contains_all_personal_data_except_secrets_and_fields_about_staff(person):
    planted(person, MINE)
    copies = exported(person)
    records = {
        name.removeprefix("records/").removesuffix(".json"): json.loads(content)
        for name, content in copies.items() if name.startswith("records/")
    }  # fmt: skip
    for place in places_of(MINE) - secret_fields():
        label, _, name = place.rpartition(".")
        assert label == "credit.StoredFile" or any(MINE in json.dumps(row[name]) for row in records[label]), place
    for label, rows in records.items():
        fields = privacy.register()[label].fields
        for row in rows:
            assert all(fields[each].is_exported and fields[each].kind != "about_staff" for each in row), label
    index = json.loads(copies.pop("index.json"))
    assert {each["file"] for each in index["contents"]} == set(copies)
    described = {"purpose", "ground", "source", "recipients", "retention"}
    assert all(described <= each.keys() and all(each[name] for name in described) for each in index["contents"])
    assert (index["user_id"], index["controller"]) == (str(person.pk), "Credit Platform")


def test_data_export_contains_only_the_first_applicant(person):
    first, second = (changed("legal_name", f"qqapplicant{number}") for number in (1, 2))
    application = ApplicationFactory(consumer=person, applicants=Applicants.of([first, second]))
    ApplicationFactory(consumer=person)
    for is_for_partner in (False, True):
        copies = exported(person, is_for_partner=is_for_partner)
        rows = json.loads(copies["records/credit.Application.json"])
        assert [row["applicants"] for row in rows] == [[first], None]
        assert "applicant_index" not in rows[0]
        assert all(b"qqapplicant2" not in content for content in copies.values())
    application.refresh_from_db()
    assert application.applicants.persons == [first, second]


def test_data_export_omits_reports_and_notices_of_the_second_applicant(person):
    application = planted(person, MINE)
    rows = {"application": application, "requested_at": NOW, "look_at": NOW, "requested_by": UserFactory()}
    for applicant in (1, 2):
        Report.objects.create(
            **rows, applicant=applicant, kind="credit", vendor="v", purpose="credit_transaction", person="p",
            status="received", summary=f"summary-{applicant}", raw="qqraw",
        )  # fmt: skip
    notice = Notice.objects.get()
    Notice.objects.filter(pk=notice.pk).update(applicant=2)
    copies = exported(person)
    reports = json.loads(copies["records/credit.Report.json"])
    assert {row["applicant"] for row in reports} == {1}
    assert {"raw", "raw_sha256"}.isdisjoint(reports[0])
    assert all(b"summary-2" not in content and b"qqraw" not in content for content in copies.values())
    labels = ("Notice", "NoticeHistory", "Delivery")
    assert not {f"notices/{notice.pk}.html", *(f"records/credit.{label}.json" for label in labels)} & copies.keys()


@pytest.mark.parametrize(("is_for_partner", "left"), [(False, [1]), (True, None)])
def test_data_export_contains_only_reports_about_the_first_applicant(person, is_for_partner, left):
    application = ApplicationFactory(consumer=person)
    reports = [{"agency": f"agency-of-{applicant}", "applicant": applicant} for applicant in (1, 2)]
    decided = {"application": application, "metadata": {"consumer_report": reports, "note": "x"}}
    ApplicationHistory.objects.create(
        **decided, position=1, status="rejected", changed_by="x", changed_at=NOW, principal=person, credential="x"
    )
    Proposal.objects.create(**decided, to="rejected", proposed_by=person, proposed_at=NOW)
    terms = Planter(person, MINE, application=application).row(LoanTerms)
    Counteroffer.objects.create(
        application=application, consumer_report=reports, reasons=[], expires_at=NOW, offered_at=NOW, seen="x",
        offered_by="x", principal=person, credential="x", loan_terms=terms,
    )  # fmt: skip
    copies = exported(person, is_for_partner=is_for_partner)
    results = []
    for label in ("ApplicationHistory", "Proposal"):
        (row,) = json.loads(copies[f"records/credit.{label}.json"])
        assert row["metadata"]["note"] == "x"
        results.append(row["metadata"]["consumer_report"])
    (row,) = json.loads(copies["records/credit.Counteroffer.json"])
    for kept in (*results, row["consumer_report"]):
        assert (kept and [report["applicant"] for report in kept]) == left
    assert all(b"agency-of-2" not in content for content in copies.values())


def test_data_export_for_a_partner_omits_reports_notes_and_report_facts(person):
    applications = planted(person, MINE), ApplicationFactory()
    notes = [
        Note.objects.create(
            author=UserFactory(), text="qqnote", at=NOW, kind="credit.application", record_id=str(application.pk)
        )
        for application in applications
    ]
    score = Score.objects.get()
    ScoreFacts.objects.filter(score=score).delete()
    ScoreFacts.objects.create(score=score, facts='{"report.score":640,"scored_on":"2026-01-31"}', nonce="qqn")
    own, partners = exported(person), exported(person, is_for_partner=True)
    theirs = {name for name in own if name.startswith("notes/")}
    assert own.keys() - partners.keys() == {"records/credit.Report.json", *theirs}
    assert f"notes/{notes[0].pk}.json" in theirs
    assert f"notes/{notes[1].pk}.json" not in theirs
    assert json.loads(own[f"notes/{notes[0].pk}.json"])["text"] == "qqnote"
    assert json.loads(own["records/credit.ScoreFacts.json"])[0]["facts"].count("report.score") == 1
    assert all(b"report.score" not in content and b"qqnote" not in content for content in partners.values())


def test_data_export_of_a_score_hides_facts_about_other_applications(person):
    definition = {
        "inputs": [{"name": "open", "from": "person.open_applications", "type": "number"}], "base_points": 5,
        "characteristics": [], "outcomes": [{"outcome": "refer"}],
    }  # fmt: skip
    score = Score.objects.create(
        version=ModelVersionFactory(definition=definition), user=person, purpose="decision", facts_sha256="x",
        points=[["open", 0, 7, 9]], total=12, outcome="refer", reasons=[], missing=[], created_at=NOW,
        sources=[{"name": "person.open_applications", "source": "platform", "as_of": "2026-01-31"}],
    )  # fmt: skip
    ScoreFacts.objects.create(score=score, facts='{"person.open_applications":3,"scored_on":"2026-01-31"}', nonce="qqn")
    copies = exported(person)
    (row,) = json.loads(copies["records/credit.Score.json"])
    assert (row["points"], row["total"], row["outcome"], row["sources"]) == (None, None, None, [])
    (facts,) = json.loads(copies["records/credit.ScoreFacts.json"])
    assert facts == {"facts": '{"scored_on":"2026-01-31"}', "score": facts["score"]}


@pytest.mark.parametrize("applicant", [1, 2])
def test_data_export_contains_files_notices_and_mails_of_the_first_applicant(person, applicant):
    application = planted(person, MINE)
    EmailAddress.objects.create(user=person, email="me@example.test", verified=True)
    queue_mail("me@example.test", "notice", {"link": "https://x.test/secret"}, now=timezone.now())
    queue_mail("you@example.test", "notice", {}, now=timezone.now())
    about_the_notice = queue_mail("earlier@example.test", "notice", {}, now=timezone.now())
    Notice.objects.update(mail=about_the_notice, applicant=applicant)
    OutgoingMail.objects.filter(pk=about_the_notice.pk).update(status="sent", due_at=None)
    file = uploaded_by(person, application)
    copies = exported(person)
    files = {content: name for name, content in copies.items() if name.startswith(f"files/{application.pk}/")}
    assert files.keys() == {b"%PDF-1.4", LOST.encode()}  # The storage has no file for the row of the marker.
    assert files[b"%PDF-1.4"] == f"files/{application.pk}/{file.pk}.pdf"
    notice = copies.get(f"notices/{Notice.objects.get().pk}.html", b"").decode()
    assert (MINE in notice) is (applicant == 1)
    mails = [content for name, content in copies.items() if name.startswith("mails/")]
    own = {"me@example.test", *(["earlier@example.test"] if applicant == 1 else [])}
    assert {json.loads(mail)["recipient"] for mail in mails} == own
    assert all(b"secret" not in mail for mail in mails)
    erase_mails(person.pk, now=timezone.now())
    assert {mail.recipient for mail in OutgoingMail.objects.all()} == {"", "you@example.test"}


def test_export_and_erasure_exclude_mails_to_unconfirmed_or_foreign_addresses(person):
    strangers = ["joint@example.test", "unconfirmed@example.test", "customer@example.test"]
    joint, unconfirmed, customer = strangers
    ApplicationFactory(
        consumer=person, status="withdrawn",
        applicants=Applicants.of([PERSON, changed("email", joint)]),
    )  # fmt: skip
    person.email = unconfirmed
    person.save(update_fields=["email"])
    EmailAddress.objects.create(user=person, email=unconfirmed, verified=False)
    ManagedAccount.objects.create(
        user=person, partner=UserFactory(), external_id="1", email=customer, created_at=timezone.now()
    )
    for address in strangers:
        queue_mail(address, "notice", {}, now=timezone.now())
    assert not [name for name in exported(person) if name.startswith("mails/")]
    erase_mails(person.pk, now=timezone.now())
    assert sorted(mail.recipient for mail in OutgoingMail.objects.all()) == sorted(strangers)


def test_undecryptable_notice_or_file_does_not_stop_the_data_export(person):
    application = planted(person, MINE)
    file = uploaded_by(person, application)
    lose_the_key(Notice.objects.get(), "html")
    lose_the_key(file.stored, "key")
    copies = exported(person)
    assert copies[f"notices/{Notice.objects.get().pk}.html"].decode() == UNREADABLE
    assert copies[f"files/{application.pk}/{file.pk}.pdf"].decode() == UNREADABLE


def uploaded_by(person, application=None):
    """Upload a file for an application of the person."""
    stored = storage.store_file(b"%PDF-1.4", now=timezone.now())
    document = RequestedDocument.objects.create(
        application=application or ApplicationFactory(consumer=person), name="Pay slip", requested_at=NOW,
        changed_by=person,
    )  # fmt: skip
    return DocumentFile.objects.create(
        document=document, stored=stored, name="Зарплата 給与 راتب.pdf", size_bytes=8, content_type="application/pdf",
        sha256=storage.sha256(b"%PDF-1.4").hexdigest(), received_at=NOW, principal=person,
    )  # fmt: skip


def test_data_export_lists_files_that_are_missing_or_damaged_in_the_storage(person):
    files = uploaded_by(person), uploaded_by(person)
    for file in files:
        storage.storage().delete(file.stored.name)
    storage.storage().save(files[1].stored.name, ContentFile(b"damaged, and longer than a tag"))
    copies = exported(person)
    for file in files:
        name = f"files/{file.document.application_id}/{file.pk}.pdf"
        assert copies[name].decode() == LOST
        assert name in {each["file"] for each in json.loads(copies["index.json"])["contents"]}
    assert json.loads(copies["records/credit.DocumentFile.json"])[0]["name"] == "Зарплата 給与 راتب.pdf"


def test_data_export_fails_while_the_document_storage_is_unavailable(person, monkeypatch, tmp_path):
    uploaded_by(person)

    class Away:
        def __getattr__(self, _name):
            raise OSError("away")

    monkeypatch.setattr(storage, "storage", Away)
    with pytest.raises(OSError, match="away"):
        exported(person)
    with pytest.raises(CommandError, match=r"can't be written: away\. Run the command again later"):
        call_command("export_subject", str(person.pk), "--to", str(tmp_path / "copy.zip"))
    assert list(tmp_path.iterdir()) == []


def test_export_subject_command_writes_a_file_readable_only_by_its_owner(person, tmp_path):
    planted(person, MINE)
    target = tmp_path / "copy.zip"
    out = StringIO()
    call_command("export_subject", str(person.pk), "--to", str(target), "--json", stdout=out)
    result = json.loads(out.getvalue())
    assert (result["user_id"], result["file"]) == (str(person.pk), str(target))
    assert target.stat().st_mode & 0o777 == 0o600
    with ZipFile(target) as archive:
        assert len(archive.namelist()) == result["tables"] + result["files"] + 1
    with pytest.raises(CommandError, match="can't be created"):
        call_command("export_subject", str(person.pk), "--to", str(target))


def test_export_subject_command_for_an_unknown_account_creates_no_file(tmp_path):
    for user_id in ("0", "x", "9" * 19, ""):
        with pytest.raises(CommandError, match="not found"):
            call_command("export_subject", user_id, "--to", str(tmp_path / "copy.zip"))
    assert not list(tmp_path.iterdir())
