"""Addresses of the desk; importing them loads every room's pages."""

from django.conf import settings
from django.contrib import admin

from config import memory

admin.autodiscover()
urlpatterns = admin.site.get_urls()
if settings.DESK_ON_DEMAND:
    memory.keep_what_is_loaded()
