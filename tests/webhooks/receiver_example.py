"""The receiver that docs/guides/webhooks.md shows, taken from there: what people copy is what is tested."""

import re
from typing import Any

from tests.documents import page

(_CODE,) = re.findall(r"```python\n(import hmac\nfrom standardwebhooks.*?)```", page("guides/webhooks.md"), re.DOTALL)
_NAMES: dict[str, Any] = {}
exec(_CODE, _NAMES)

accept = _NAMES["accept"]
