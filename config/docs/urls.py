"""Addresses of the documentation."""

from django.urls import path
from django.views.generic import RedirectView

from config.docs import views

app_name = "docs"
urlpatterns = [
    path("docs", views.front, name="front"),
    path("docs/", RedirectView.as_view(pattern_name="docs:front")),
    path("docs.md", views.markdown, {"name": ""}),
    path("docs/search", views.search, name="search"),
    path("docs/errors", views.errors, name="errors"),
    path("docs/errors.md", views.errors_markdown),
    path("docs/errors/<str:code>.md", views.error_markdown),
    path("docs/errors/<str:code>", views.error, name="error"),
    path("docs/<path:name>.md", views.markdown),
    path("llms.txt", views.llms),
    path("docs/pictures/<str:name>", views.picture, name="picture"),
    path("docs/<path:name>", views.page, name="page"),
]
