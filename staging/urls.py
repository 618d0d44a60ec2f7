from django.urls import path

from staging.views import StagingViewSet

urlpatterns = [
    path("staging/items", StagingViewSet.as_view({"get": "list", "post": "stage"})),
    path("staging/items/<str:item_id>", StagingViewSet.as_view({"get": "retrieve"})),
    path("staging/approve/<str:item_id>", StagingViewSet.as_view({"post": "approve"})),
    path("staging/reject/<str:item_id>", StagingViewSet.as_view({"post": "reject"})),
    path("staging/approve-all", StagingViewSet.as_view({"post": "approve_all"})),
    path("staging/reject-all", StagingViewSet.as_view({"post": "reject_all"})),
]
