"""Addresses of the documentation. A path consists of plain names, so none leads out of the folder."""

from django.urls import path, re_path

from config.docs import views

app_name = "docs"
_NAME = r"(?:[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}/){0,5}[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}"
urlpatterns = [
    path("docs", views.front, name="front"),
    path("docs/", views.page),
    path("docs.md", views.markdown, {"name": "index"}),
    path("llms.txt", views.llms),
    re_path(rf"^docs/(?:_sources/)?(?P<name>{_NAME})\.md\Z", views.markdown),
    re_path(r"^docs/pictures/(?P<name>[a-z-]+\.png)\Z", views.picture),
    re_path(rf"^docs/(?P<path>{_NAME})\Z", views.page, name="page"),
    re_path(r"^docs/", views.nothing),
]
