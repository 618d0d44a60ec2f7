from django.http import HttpResponse


def explorer(request):
    return HttpResponse("x")
