"""Addresses under `/account/`, for the project's own pages, and for allauth's pages that the project uses."""

from typing import Any

from allauth.account import views as theirs
from allauth.account.decorators import reauthentication_required
from allauth.mfa.base import views as factors
from allauth.mfa.totp import views as app
from allauth.mfa.webauthn import views as passkeys
from django.db import transaction
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from identity.accounts import pages
from identity.accounts.languages import choose_language
from identity.accounts.privacy_pages import PrivacyPage, download_export


def _atomic(view: Any) -> Any:
    """Run a page in one transaction, including its mails."""
    return transaction.atomic(view.as_view())


# This page requires a recent log-in, because it can end other sessions.
_sessions = reauthentication_required(pages.SessionsPage.as_view(), allow_get=True)
_privacy = reauthentication_required(PrivacyPage.as_view(), allow_get=True)
_new_codes = reauthentication_required(_atomic(pages.NewRecoveryCodesPage))

urlpatterns = [
    path("", pages.AccountPage.as_view(), name="account"),
    path("language", choose_language, name="account_language"),
    path("login", theirs.LoginView.as_view(), name="account_login"),
    path("logout", theirs.LogoutView.as_view(), name="account_logout"),
    path("inactive", theirs.AccountInactiveView.as_view(), name="account_inactive"),
    path("signup", _atomic(theirs.SignupView), name="account_signup"),
    path(
        "invitation/accepted/<uuid:invitation_id>",
        pages.AcceptedInvitationPage.as_view(),
        name="account_invitation_accepted",
    ),
    path("invitation/<str:token>", pages.InvitationPage.as_view(), name="account_invitation"),
    path("claim/<str:token>", _atomic(pages.ClaimPage), name="account_claim"),
    path("confirm", _atomic(pages.CheckMailPage), name="account_email_verification_sent"),
    path("confirm/<str:key>", _atomic(pages.ConfirmPage), name="account_confirm_email"),
    path("reauthenticate", theirs.ReauthenticateView.as_view(), name="account_reauthenticate"),
    path("email", reauthentication_required(_atomic(pages.AddressPage), allow_get=True), name="account_email"),
    path("name", _atomic(pages.NamePage), name="account_name"),
    path("address/<str:token>", _atomic(pages.AddressLinkPage), name="account_confirm_address"),
    path("password", _atomic(theirs.PasswordChangeView), name="account_change_password"),
    path("password/set", _atomic(theirs.PasswordSetView), name="account_set_password"),
    path("password/forgot", _atomic(theirs.PasswordResetView), name="account_reset_password"),
    path("password/forgot/sent", theirs.PasswordResetDoneView.as_view(), name="account_reset_password_done"),
    re_path(
        r"^password/new/(?P<uidb36>[0-9A-Za-z]{1,13})-(?P<key>[0-9A-Za-z-]{1,100})$",
        _atomic(pages.NewPasswordPage),
        name="account_reset_password_from_key",
    ),
    path("password/new/done", pages.NewPasswordDonePage.as_view(), name="account_reset_password_from_key_done"),
    path("sessions", _sessions, name="usersessions_list"),
    path("second-factor", factors.IndexView.as_view(), name="mfa_index"),
    path("second-factor/log-in", factors.AuthenticateView.as_view(), name="mfa_authenticate"),
    path("second-factor/confirm", factors.ReauthenticateView.as_view(), name="mfa_reauthenticate"),
    path("second-factor/app/add", pages.adding(app.ActivateTOTPView), name="mfa_activate_totp"),
    path("second-factor/app/remove", _atomic(app.DeactivateTOTPView), name="mfa_deactivate_totp"),
    path("second-factor/codes", RedirectView.as_view(pattern_name="mfa_index"), name="mfa_view_recovery_codes"),
    path("second-factor/codes/new", _new_codes, name="mfa_generate_recovery_codes"),
    path("second-factor/passkeys", RedirectView.as_view(pattern_name="mfa_index"), name="mfa_list_webauthn"),
    path("second-factor/passkeys/add", pages.adding(passkeys.AddWebAuthnView), name="mfa_add_webauthn"),
    path("second-factor/passkeys/<int:pk>/remove", _atomic(passkeys.RemoveWebAuthnView), name="mfa_remove_webauthn"),
    path(
        "second-factor/passkeys/confirm",
        passkeys.ReauthenticateWebAuthnView.as_view(),
        name="mfa_reauthenticate_webauthn",
    ),
    path("oidc/", include("identity.oidc.urls")),
    path("privacy", _privacy, name="account_privacy"),
    path("privacy/exports/<str:export_id>", download_export, name="account_export"),
    path("delete", RedirectView.as_view(pattern_name="account_privacy")),
]
