from staging.registry import Kind
from staging.serializers import NotePayload
from staging.services import store_notes

KINDS = (Kind("note", payload=NotePayload, store=store_notes),)
