# What .venv/bin/wisp runs. Its first line blocks SIGINT while Python starts, and `-S` leaves `site` to this file, so
# that Ctrl+C never meets Python's own handler, which would write a traceback.
import _signal
import os

if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
    _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGINT])

import site  # noqa: E402 - the slow part

site.main()

from app.__main__ import main  # noqa: E402 - `site` puts the project on the path

raise SystemExit(main())
