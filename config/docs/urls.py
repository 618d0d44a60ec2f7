"""URLs of the documentation.

A URL path of plain names can't refer to a file outside of the folder of the documentation.
"""

from django.urls import path, re_path, register_converter
from django.urls.converters import StringConverter

from config.docs import views


class Names(StringConverter):
    """A converter for up to six names of letters, digits, and inner dots, separated by slashes."""

    regex = r"(?:[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}/){0,5}[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}"


register_converter(Names, "names")
app_name = "docs"
urlpatterns = [
    path("docs", views.front, name="front"),
    path("docs/", views.page),
    path("docs.md", views.markdown, {"name": "index"}),
    path("docs/.md", views.markdown, {"name": "index"}),
    path("llms.txt", views.llms),
    path("docs/_sources/<names:name>.md", views.markdown),
    path("docs/<names:name>.md", views.markdown),
    re_path(r"^docs/pictures/(?P<name>[a-z-]+\.png)\Z", views.picture),
    path("docs/<names:path>", views.page, name="page"),
    re_path(r"^docs/", views.nothing),
]
