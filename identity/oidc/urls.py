from django.urls import path

from identity.oidc import pages

urlpatterns = [
    path("start", pages.StartPage.as_view(), name="oidc_start"),
    path("callback", pages.CallbackPage.as_view(), name="oidc_callback"),
    path("code", pages.CodePage.as_view(), name="oidc_code"),
    path("logout", pages.LogoutPage.as_view(), name="oidc_logout"),
]
