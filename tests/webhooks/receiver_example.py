"""The receiver that README shows, taken from there: what people copy is what is tested."""

import re
from pathlib import Path
from typing import Any

_README = Path(__file__).resolve().parents[2] / "README.md"
(_CODE,) = re.findall(r"```python\n(import hmac\nfrom standardwebhooks.*?)```", _README.read_text(), flags=re.DOTALL)
_NAMES: dict[str, Any] = {}
exec(_CODE, _NAMES)

accept = _NAMES["accept"]
