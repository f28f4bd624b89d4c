# Not installed where types are checked, and untyped: all of it is Any.
from typing import Any

def __getattr__(name: str) -> Any: ...
