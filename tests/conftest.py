"""What holds for the whole suite."""

from __future__ import annotations

import signal

# A shell starts what it runs in the background with SIGINT ignored, and so would be every
# process the tests start: none could then be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
