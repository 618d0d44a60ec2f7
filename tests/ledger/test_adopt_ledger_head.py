"""`manage.py adopt_ledger_head`: a log whose guard file is lost signs on once a person names its newest head."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from ledger import guard, log
from ledger.models import Block
from tests.ledger.conftest import OTHER_SIGNING_KEY, assert_error, seal_reports
from tests.ledger.test_guard import put_an_older_copy_back

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


@pytest.fixture
def head():
    """The newest head of a log of two blocks."""
    seal_reports(["a"])
    seal_reports(["b", "c"])
    return log.read_head()


def adopt(size, root):
    out = StringIO()
    call_command("adopt_ledger_head", size=size, root=root.hex(), as_json=True, stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.parametrize("content", [None, b"", b"damaged"])
def test_a_log_without_a_usable_guard_signs_again_from_the_head_that_is_named(client, head, settings, content):
    settings.LEDGER_GUARD_FILE.unlink()
    if content is not None:
        settings.LEDGER_GUARD_FILE.write_bytes(content)
    assert_error(client.anchor("d"), 503, "E7002")
    for _ in range(2):
        assert adopt(3, head.root) == {"size": 3, "root": head.root.hex(), "block_number": 2}
        assert guard.read() == guard.Mark(3, head.root)
    assert client.anchor("d").status_code == 200
    assert guard.read().size == 4


@pytest.mark.parametrize(("size", "root"), [(2, None), (4, None), (3, b"x" * 32), (-1, None)])
def test_another_head_than_the_newest_is_not_adopted(head, settings, size, root):
    settings.LEDGER_GUARD_FILE.unlink()
    with pytest.raises(CommandError, match=f"--size 3 --root {head.root.hex()}"):
        adopt(size, root or head.root)
    assert not settings.LEDGER_GUARD_FILE.exists()


@pytest.mark.parametrize("root", ["", "zz", "ab" * 31])
def test_an_invalid_root_is_an_error(head, root):
    with pytest.raises(CommandError, match="64 hex"):
        call_command("adopt_ledger_head", size=3, root=root)


def test_a_guard_that_remembers_more_is_not_overruled(head):
    put_an_older_copy_back()
    older = log.read_head()
    with pytest.raises(CommandError, match="restore the newest"):
        adopt(older.tree_size, older.root)
    assert guard.read() == guard.Mark(3, head.root)


@pytest.mark.parametrize("setting", ["LEDGER_SIGNING_KEY", "LEDGER_ORIGIN"])
def test_another_key_or_origin_cannot_adopt_a_log(client, head, settings, setting):
    settings.LEDGER_GUARD_FILE.unlink()
    setattr(settings, setting, {"LEDGER_SIGNING_KEY": OTHER_SIGNING_KEY, "LEDGER_ORIGIN": "other.example"}[setting])
    with pytest.raises(CommandError, match="begin a new log"):
        adopt(3, head.root)
    assert not settings.LEDGER_GUARD_FILE.exists()
    assert_error(client.anchor("d"), 503, "E7002")


def test_a_healthy_log_may_be_adopted_and_nothing_changes(client, head):
    adopt(3, head.root)
    assert client.anchor("d").json()["index"] == 3
    assert Block.objects.count() == 3


def test_an_empty_log_has_a_head_too(client):
    adopt(0, log.Head().root)
    assert client.anchor("a").status_code == 200
