from ._native import Doc as Doc
from ._native import FleeceError as FleeceError
from ._native import Value as Value
from ._native import dumps as dumps
from ._native import from_json as from_json
from ._native import loads as loads

__all__ = ["Doc", "FleeceError", "Value", "dumps", "from_json", "loads"]
