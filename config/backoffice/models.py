"""Django finds the tables of an app in this module; `config.core.casework` defines them."""

from config.core.casework import Assignment, DataAccess, Note, ReplyTemplate, SavedView

__all__ = ["Assignment", "DataAccess", "Note", "ReplyTemplate", "SavedView"]
