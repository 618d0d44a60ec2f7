from django.urls import path

from identity.oauth.pages import ConsentPage, GrantsPage, LogInPage, LogOutPage

urlpatterns = [
    path("authorize", ConsentPage.as_view()),
    path("login", LogInPage.as_view()),
    path("logout", LogOutPage.as_view()),
    path("grants", GrantsPage.as_view()),
]
