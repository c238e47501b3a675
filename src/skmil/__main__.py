"""``python -m skmil``: the command line."""

import sys

from skmil.cli import main

sys.exit(main())
