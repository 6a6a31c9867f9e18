"""What holds for the whole suite."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# No test is timed: how long an example takes is the machine's affair.
settings.register_profile(
    "suite", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("suite")

# A shell starts what it runs in the background with SIGINT ignored, and so would be every
# process the tests start: none could then be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
