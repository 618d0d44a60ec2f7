from django.urls import path

from identity.oauth.pages import ConsentPage, GrantsPage

urlpatterns = [path("authorize", ConsentPage.as_view()), path("grants", GrantsPage.as_view())]
