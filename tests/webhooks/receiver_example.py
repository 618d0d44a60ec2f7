"""Load `is_valid` from docs/guides/verify-webhooks.md, so that the tests run the published code."""

import re
from typing import Any

from tests.documents import page

(_CODE,) = re.findall(r"```python\n(.*?)```", page("guides/verify-webhooks.md"), re.DOTALL)
_NAMES: dict[str, Any] = {}
exec(_CODE, _NAMES)

is_valid = _NAMES["is_valid"]
