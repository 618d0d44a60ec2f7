"""Print mails in development, and store them in `VAR_DIR/mail` for the page `/dev/mail`."""

import sys
from collections.abc import Sequence
from email import message_from_bytes
from email.message import EmailMessage as Parsed
from email.policy import default
from pathlib import Path

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from config.core.ids import uuid7

KEPT = 200


def _folder() -> Path:
    return Path(settings.VAR_DIR) / "mail"


class EmailBackend(BaseEmailBackend):
    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for message in email_messages:
            content = message.message().as_bytes()
            draft = folder / f"{uuid7()}.draft"
            draft.write_bytes(content)
            draft.rename(draft.with_suffix(".eml"))
            # `make run` displays the workers' output in the terminal.
            print(f"Mail to {', '.join(message.to)}: {message.subject}\n{message.body}", file=sys.stderr)  # noqa: T201
        for old in sorted(folder.glob("*.eml"))[:-KEPT]:
            old.unlink(missing_ok=True)
        return len(email_messages)


def mail_page(request: HttpRequest) -> HttpResponse:
    files = sorted(_folder().glob("*.eml"), reverse=True)
    mails = [message_from_bytes(file.read_bytes(), policy=default) for file in files]
    shown = [
        {"to": mail["To"], "subject": mail["Subject"], "date": mail["Date"], "text": _text_of(mail)} for mail in mails
    ]
    return render(request, "mail/development.html", {"mails": shown})


def _text_of(mail: Parsed) -> str:
    body = mail.get_body(("plain",))
    return "" if body is None else str(body.get_content())
