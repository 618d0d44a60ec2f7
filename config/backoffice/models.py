"""The models that Django finds for this app. `config.core.casework` defines them."""

from config.core.casework import Assignment, DataAccess, Note, ReplyTemplate, SavedView

__all__ = ["Assignment", "DataAccess", "Note", "ReplyTemplate", "SavedView"]
