"""What reviewers share: notes that mention them, and texts that they use again."""

from django.contrib import admin
from django.db.models import Q

from config.backoffice.audit import RecordNamedAdmin
from config.backoffice.html import column, moment
from config.backoffice.lists import ConditionFilter, LargeListAdmin
from config.backoffice.models import Note, ReplyTemplate
from config.backoffice.queues import Queue, register


class MentionFilter(ConditionFilter):
    title, parameter_name = "to whom", "to"
    conditions = {
        "me": ("Me, unread", lambda request: Q(pk__in=Note.unread_by(request.user))),
        "mine": ("Written by me", lambda request: Q(author=request.user)),
    }


@admin.register(Note)
class NoteAdmin(RecordNamedAdmin):
    list_display = ("written", "record", "author", "mentioned", "text")
    list_filter = (MentionFilter,)
    list_select_related = ("author", "mentioned")
    ordering = ("-id",)
    fields = ("written", "record", "author", "mentioned", "text")

    written = column(moment, "at", "written", ordering="id")


@admin.register(ReplyTemplate)
class ReplyTemplateAdmin(LargeListAdmin):
    list_display = ("name", "use", "text")
    list_filter = ("use",)
    search_fields = ("name",)


register(
    Queue(
        name="mentions",
        title="Notes to you",
        permission="backoffice.view_note",
        rows=Note.unread_by,
        waiting_since="at",
        address="/admin/backoffice/note/?to=me",
        calm="No note waits for you.",
        rank=15,
    )
)
