"""The first module of the frozen program."""

import sys

from app.__main__ import main

sys.exit(main())
