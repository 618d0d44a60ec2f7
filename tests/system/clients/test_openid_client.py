"""The third-party OAuth client `openid-client` discovers endpoints by metadata (RFC 8414), and checks `iss`.

`npm ci` in this folder installs it. Without it, the tests are skipped.
"""

import json
import shutil
from pathlib import Path

import pytest

from tests.identity.oauth_support import REDIRECT, answer, browser_of, make_client
from tests.system.clients.test_generated_clients import run

HERE = Path(__file__).parent


@pytest.fixture
def call(tmp_path, live_server, transactional_db, settings):
    if not (HERE / "node_modules" / "openid-client").exists():
        pytest.skip("needs the tools from npm: run `npm ci` in tests/system/clients")
    settings.HOST_ROOT = settings.APP_URL = live_server.url
    settings.BASE_URL = f"{live_server.url}/v1"
    settings.OAUTH2_PROVIDER = settings.OAUTH2_PROVIDER | {"OIDC_ISS_ENDPOINT": live_server.url}
    (tmp_path / "node_modules").symlink_to(HERE / "node_modules")
    shutil.copy(HERE / "oauth.mjs", tmp_path)
    return lambda step, **arguments: json.loads(run("node", "oauth.mjs", step, json.dumps(arguments), cwd=tmp_path))


@pytest.mark.parametrize("public", [False, True])
def test_openid_client_gets_uses_refreshes_and_revokes_tokens(call, user, live_server, public):
    client, secret = make_client(public=public)
    fields = {"server": live_server.url, "client_id": client.client_id, "state": "st4te", "redirect_uri": REDIRECT}
    if not public:
        fields["client_secret"] = secret
    started = call("begin", scope="offers:read identity:read", **fields)
    browser = browser_of(user)
    page = browser.get(started["address"].removeprefix(live_server.url))
    called = answer(browser, page).headers["Location"]
    done = call("finish", called=called, verifier=started["verifier"], **fields)
    assert done == {"scope": done["scope"], "read": 200, "ended": "invalid_grant", "again": "invalid_grant"}
    assert set(done["scope"].split()) == {"offers:read", "identity:read"}
