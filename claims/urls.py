from claims.views import ClaimViewSet
from config.api.routers import ApiRouter

router = ApiRouter()
router.register("claims", ClaimViewSet, basename="claim")
urlpatterns = router.urls
