"""What the launcher hands to Python: this folder, with the package warp_reduce in it.

`packages`, where it is there, holds the packages that it needs; an installed wr brings them along.
"""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent / "packages"))

from warp_reduce.wr.main import main  # noqa: E402

main()
