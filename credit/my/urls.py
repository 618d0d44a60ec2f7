from django.urls import path, re_path

from credit.my import apply, document_pages, pages, rights_pages, terms_pages

urlpatterns = [
    path("", pages.ApplicationsPage.as_view(), name="my"),
    path("/applications/<str:application_id>", pages.ApplicationPage.as_view(), name="my_application"),
    path("/apply", apply.OffersPage.as_view(), name="my_apply"),
    path("/apply/link/<str:token>", apply.LinkPage.as_view(), name="my_apply_link"),
    path("/apply/<str:offer_id>", apply.ApplyPage.as_view(), name="my_apply_for"),
    path("/applications/<str:application_id>/edit", apply.EditPage.as_view(), name="my_edit"),
    path(
        "/applications/<str:application_id>/explanation", rights_pages.ExplanationPage.as_view(), name="my_explanation"
    ),
    path("/applications/<str:application_id>/proof", document_pages.ProofPage.as_view(), name="my_proof"),
    re_path(
        r"^/applications/(?P<application_id>[^/]+)/proof/(?P<anchor_id>[^/]+)/(?P<kind>record|proof)\Z",
        document_pages.ProofFile.as_view(),
        name="my_proof_file",
    ),
    path("/consent", pages.ConsentPage.as_view(), name="my_consent"),
    path("/applications/<str:application_id>/notices/<str:notice_id>", pages.NoticePage.as_view(), name="my_notice"),
    path("/applications/<str:application_id>/accept", terms_pages.AcceptPage.as_view(), name="my_accept"),
    path(
        "/applications/<str:application_id>/information", terms_pages.InformationPage.as_view(), name="my_information"
    ),
    path("/information/<str:token>", terms_pages.LinkedInformationPage.as_view(), name="my_linked_information"),
    path("/agreement/<str:token>", terms_pages.LinkedAgreementPage.as_view(), name="my_linked_agreement"),
    path("/applications/<str:application_id>/agreement", terms_pages.AgreementPage.as_view(), name="my_agreement"),
    path("/applications/<str:application_id>/withdrawal", terms_pages.WithdrawalPage.as_view(), name="my_withdrawal"),
    path(
        "/applications/<str:application_id>/documents/<str:document_id>",
        document_pages.UploadPage.as_view(),
        name="my_document",
    ),
    path(
        "/applications/<str:application_id>/documents/<str:document_id>/files/<str:file_id>",
        document_pages.FilePage.as_view(),
        name="my_file",
    ),
]
