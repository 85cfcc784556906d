from django.urls import path

from . import views

urlpatterns = [
    path("invoices/<int:id>/pay", views.pay),
    path("webhooks", views.webhook),
    path("received", views.received),
]
