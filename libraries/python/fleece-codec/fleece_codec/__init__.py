"""Read, check and write Fleece, the binary form of JSON that is read in place.

>>> import fleece_codec
>>> fleece_codec.loads(fleece_codec.dumps({"a": [1, 2.5]}))
{'a': [1, 2.5]}
"""

from ._native import Doc, FleeceError, Value, dumps, from_json, loads

__all__ = ["Doc", "FleeceError", "Value", "dumps", "from_json", "loads"]
