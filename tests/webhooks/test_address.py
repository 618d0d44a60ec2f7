"""Test which webhook URLs are accepted, how they are parsed, and which addresses are blocked."""

import ipaddress
import random
import socket
import threading
from ipaddress import ip_address

import pytest

from config.clients.addresses import AddressRefused, addresses_of, is_blocked, read_url
from config.webhooks.models import Endpoint
from tests.api import assert_error
from tests.webhooks.conftest import PUBLIC_URL

DISGUISED = [
    "127.0.0.1", "127.1", "127.0.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "0177.0.0.1", "0",
    "127.0.0.1.", "①②⑦.⓪.⓪.①", "127。0。0。1", "%31%32%37.0.0.1", "[::1]", "[::]", "[::ffff:127.0.0.1]",
    "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[::169.254.169.254]", "[::127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "[2002:7f00:1::]",
    "[2001:0:4136:e378:8000:63bf:3fff:fdd2]", "[2001:db8::1]", "[fe80::1]", "[fe80::1%25eth0]", "[fec0::1]",
    "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[100::1]", "[2a00:1450:4001:80b:0:5efe:7f00:1]", "[3fff::1]",
    "[2001:4860:4860:0:200:5efe:a00:1]", "[5f00::1]",
    # These addresses are from IANA's registry of special-purpose addresses, RFC 4291, and RFC 6874.
    "[0:0:0:0:0:0:0:1]", "[::FFFF:7F00:1]", "[64:ff9b::192.168.1.1]", "[2001:2::1]", "[2001:3::1]", "[2001:4:112::1]",
    "[2001:10::1]", "[2001:20::1]", "[2001:30::1]", "[2001:1::1]", "[2620:4f:8000::1]", "[fe80::1%eth0]", "[febf::1]",
    "[fdff:ffff::1]", "[ff0e::1]", "[2002:c0a8:101::1]", "[100:0:0:1::1]", "[3fff:fff::1]", "[v1.fe80::a+en1]",
    "100.64.0.1", "100.100.100.200", "100.127.255.255",
    "169.254.169.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "192.0.0.192", "192.0.2.1",
    "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
    "255.255.255.255", "0.0.0.0", "168.63.129.16", "localhost", "localhost.", "LOCALHOST", "a.localhost",
    "printer.local", "metadata.google.internal", "metadata", "kubernetes", "router.home.arpa", "x.onion",
]  # fmt: skip

# These addresses of public resolvers, root servers, and large sites have the forms of RFC 4291 and RFC 5952.
SPELLINGS = [
    "2001:4860:4860::8888", "2620:FE::FE", "2001:0500:0002:0000:0000:0000:0000:000c", "2001:7fd:0:0:0:0:0:1",
    "2001:7fe::0053", "2606:4700:4700::0.0.17.17", "2801:1B8:10::b", "2a00:1450:4001:80b::200e",
    "2a03:2880:f12f:83:face:b00c:0:25de", "2001:500:9f::42", "2620:0:2d0:200::7",
]  # fmt: skip
PUBLIC = [
    "2001:4860:4860::8888", "2620:fe::fe", "2001:500:2::c", "2001:7fd::1", "2001:7fe::53", "2606:4700:4700::1111",
    "2801:1b8:10::b", "2a00:1450:4001:80b::200e", "2a03:2880:f12f:83:face:b00c:0:25de", "2001:500:9f::42",
    "2620:0:2d0:200::7",
]  # fmt: skip

MALFORMED = [
    "", "receiver.example", "//receiver.example/", "ftp://receiver.example/", "file:///etc/passwd", "gopher://a.example/",
    "javascript:alert(1)", "https://", "https:///path", "https://:443/", "https://user:pass@receiver.example/",
    "https://user@receiver.example/", "https://@receiver.example/", "https://receiver.example@evil.example/",
    "https://receiver.example:0/", "https://receiver.example:/", "https://receiver.example:65536/",
    "https://receiver.example:+443/", "https://receiver.example:0443/", "https://receiver.example:443x/",
    "https://receiver.example:22/", "https://receiver.example:6379/", "https://receiver.example#part",
    "https://receiver.example/#", "https://receiver..example/", "https://-receiver.example/", "https://[::1/",
    "https://[receiver.example]/", "https://::1/", "https://receiver.example\\@127.0.0.1/",
    "https://receiver.example/\r\nHost: x", "https://receiver.example/ x", " https://receiver.example/",
    "https://receiver.example/\x00", "https://receiver.example/\x7f", "https://rec\teiver.example/",
    "https://bücher.example/", "https://receiver.example/ü", "https://receiver.example/{x}", "https://1.2.3.4.5/",
    "https://1.2.3/", "https://256.1.1.1/", "https://" + "a" * 64 + ".example/", "https://" + "a." * 130 + "example/",
    "https://receiver.example/" + "x" * 3072,
]  # fmt: skip


def test_ambiguous_webhook_url_or_internal_address_in_any_spelling_is_rejected():
    for host in DISGUISED:
        with pytest.raises(AddressRefused):
            read_url(f"https://{host}/hook")
    for url in MALFORMED:
        with pytest.raises(AddressRefused):
            read_url(url)


def test_webhook_api_rejects_an_internal_address_on_create_and_update(api, make_endpoint):
    path = f"/webhooks/endpoints/{make_endpoint().pk}"
    for url in ("https://127.0.0.1/hook", "https://[::ffff:a9fe:a9fe]/", "https://user@receiver.example/", "ftp://x/"):
        for response in (api.send("/webhooks/endpoints", {"url": url}), api.call("PATCH", path, {"url": url})):
            assert assert_error(response, 400, "E1001")["details"][0]["field"] == "url"
    assert Endpoint.objects.get().url == PUBLIC_URL


VALID = [
    ("https://receiver.example", "receiver.example", 443, "/", "receiver.example"),
    ("https://Receiver.Example./a?b=c", "receiver.example", 443, "/a?b=c", "receiver.example"),
    ("HTTPS://receiver.example:8443/", "receiver.example", 8443, "/", "receiver.example:8443"),
    ("https://xn--bcher-kva.example/%C3%BC", "xn--bcher-kva.example", 443, "/%C3%BC", "xn--bcher-kva.example"),
    ("https://8.8.8.8/x", "8.8.8.8", 443, "/x", "8.8.8.8"),
    ("https://[2606:4700::1111]:8443/x", "2606:4700::1111", 8443, "/x", "[2606:4700::1111]:8443"),
    *(
        (f"https://[{spelling}]/x", address, 443, "/x", f"[{address}]")
        for spelling, address in zip(SPELLINGS, PUBLIC, strict=True)
    ),
    ("http://receiver.example:8080/", "receiver.example", 8080, "/", "receiver.example:8080"),
    ("http://receiver.example/", "receiver.example", 80, "/", "receiver.example"),
]


def test_valid_webhook_url_is_parsed():
    for url, host, port, path, host_header in VALID:
        target = read_url(url)
        assert (target.host, target.port, target.path, target.host_header) == (host, port, path, host_header)


def test_production_accepts_webhook_urls_only_with_https_on_allowed_ports(settings):
    settings.PRODUCTION = True
    for url in ["http://receiver.example/", "https://receiver.example:8080/", "https://8.8.8.8:80/"]:
        with pytest.raises(AddressRefused):
            read_url(url)
        assert read_url("https://receiver.example:8443/").port == 8443, url


def test_development_can_allow_any_webhook_address_and_port(private_allowed):
    assert read_url("http://127.0.0.1:9999/").port == 9999
    assert read_url("http://localhost:5000/").host == "localhost"
    assert read_url("http://[::1]:5000/").host == "::1"


def test_only_special_ip_addresses_are_blocked_for_webhooks():
    for address in ["8.8.8.8", "1.1.1.1", "93.184.215.14", "2606:4700::1111", "2a00:1450:4001:80b::200e"]:
        assert not is_blocked(ip_address(address)), address
    chance = random.Random(4)
    for bits, kind in ((32, ipaddress.IPv4Address), (128, ipaddress.IPv6Address)):
        for _ in range(5_000):
            address = kind(chance.getrandbits(bits))
            if not address.is_global or address.is_multicast or address.is_reserved:
                assert is_blocked(address), address


def test_webhook_host_with_one_internal_address_is_rejected():
    for addresses in [
        ["10.0.0.1"],
        ["8.8.8.8", "10.0.0.1"],
        ["8.8.8.8", "::ffff:10.0.0.1"],
        ["2606:4700::1111", "::1"],
    ]:
        resolve = lambda _host, known=addresses: [ip_address(address) for address in known]  # noqa: E731
        with pytest.raises(AddressRefused) as refusal:
            addresses_of(read_url("https://receiver.example/"), resolve=resolve, seconds=1)
        assert refusal.value.word == "blocked_address", addresses
        assert not any(address in str(refusal.value) for address in addresses), addresses


def test_webhook_endpoint_requests_do_not_resolve_the_host(api, make_endpoint, monkeypatch):
    requests = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_arguments, **_options: requests.append(host))
    endpoint = make_endpoint()
    assert api.send("/webhooks/endpoints", {"url": "https://receiver.example/"}).status_code == 201
    changed = api.call("PATCH", f"/webhooks/endpoints/{endpoint.pk}", {"url": "https://receiver.example/"})
    assert changed.status_code == 200
    assert requests == []


def test_webhook_delivery_to_a_host_with_an_internal_address_is_rejected(api, monkeypatch, emit, work):
    inner = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.1.2.3", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_options: inner)
    assert api.send("/webhooks/endpoints", {"url": "https://receiver.example/"}).status_code == 201
    emit()
    work()
    (delivery,) = api.read("/webhooks/deliveries").json()["deliveries"]
    assert delivery["attempts"][0]["error"] == "blocked_address"
    assert "10.1.2.3" not in str(delivery)


def test_hanging_dns_resolver_times_out_for_webhooks():
    released = threading.Event()
    with pytest.raises(AddressRefused) as refusal:
        addresses_of(read_url("https://receiver.example/"), resolve=lambda _host: released.wait(60), seconds=0.05)
    released.set()
    assert refusal.value.word == "unresolvable"
