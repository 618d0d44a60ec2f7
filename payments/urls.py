from django.urls import path

from payments.cards.views import CardPaymentViewSet, FeeViewSet, PaymentMethodViewSet
from payments.crypto.views import CryptoPaymentViewSet
from payments.wallets.views import WalletViewSet

urlpatterns = [
    path("payments/calculate-fee", FeeViewSet.as_view({"get": "quote"})),
    path("payments/process", CardPaymentViewSet.as_view({"post": "process"})),
    path("payments/processor-events", CardPaymentViewSet.as_view({"post": "events"})),
    path("payments/add", PaymentMethodViewSet.as_view({"post": "add"})),
    path("payments/methods/<str:method_id>/default", PaymentMethodViewSet.as_view({"post": "make_default"})),
    path("payments/methods/<str:method_id>/toggle", PaymentMethodViewSet.as_view({"post": "toggle"})),
    path("user/<str:user_id>/payment-methods", PaymentMethodViewSet.as_view({"get": "list"})),
    path("payments/<str:payment_id>", CardPaymentViewSet.as_view({"get": "retrieve"})),
    path("payments/crypto/initiate", CryptoPaymentViewSet.as_view({"post": "initiate"})),
    path("payments/crypto/confirm", CryptoPaymentViewSet.as_view({"post": "confirm"})),
    path("payments/crypto/status/<str:tx_hash>", CryptoPaymentViewSet.as_view({"get": "status"})),
    path("payments/crypto/receipt/<str:tx_hash>", CryptoPaymentViewSet.as_view({"get": "receipt"})),
    path("payments/crypto/receipt/<str:tx_hash>/details", CryptoPaymentViewSet.as_view({"get": "receipt_details"})),
    path("wallet/connect/circle", WalletViewSet.as_view({"post": "connect_circle"})),
    path("wallet/connect/walletconnect", WalletViewSet.as_view({"post": "connect_reference"})),
    path("wallet/list/<str:user_id>", WalletViewSet.as_view({"get": "list"})),
    path("wallet/status/<str:wallet_id>", WalletViewSet.as_view({"get": "status"})),
    path("wallet/balance/<str:wallet_id>", WalletViewSet.as_view({"get": "balance"})),
    path("wallet/default/<str:wallet_id>", WalletViewSet.as_view({"post": "make_default"})),
    path("wallet/disconnect/<str:wallet_id>", WalletViewSet.as_view({"delete": "disconnect"})),
]
