"""The claims of the papers, for the tests that compare with them: tools/claims.py and its rows."""

import importlib.util
import os
import pathlib

_SOURCE = pathlib.Path(os.environ.get("LETHE_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
_spec = importlib.util.spec_from_file_location("claims", _SOURCE / "tools/claims.py")
claims = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(claims)
ROWS = claims.load()
