"""`is_valid` of docs/guides/verify-webhooks.md, taken from the page: the published code is the tested code."""

import re
from typing import Any

from tests.documents import page

(_CODE,) = re.findall(r"```python\n(.*?)```", page("guides/verify-webhooks.md"), re.DOTALL)
_NAMES: dict[str, Any] = {}
exec(_CODE, _NAMES)

is_valid = _NAMES["is_valid"]
