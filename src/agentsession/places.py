"""Where sessions are kept on this machine when nobody says otherwise."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from agentsession.errors import AgentSessionError

HOME_VARIABLE = "AGENTSESSION_HOME"
"""The environment variable that names the file store to use by default."""


def default_store() -> Path:
    """Return the root of the default file store; it may not exist.

    ``$AGENTSESSION_HOME`` when it is set, else ``agentsession/sessions`` in the
    platform's directory for a user's data.

    Spec: decision C.

    Raises:
        AgentSessionError: when neither the variable nor a home directory is known.
    """
    chosen = os.environ.get(HOME_VARIABLE, "")
    return Path(chosen) if chosen else platform_store()


def platform_store() -> Path:
    """Return the root of the store in the platform's own place; it may not exist.

    Raises:
        AgentSessionError: when the home directory cannot be found.
    """
    try:
        return _data_directory() / "agentsession" / "sessions"
    except RuntimeError as error:
        raise AgentSessionError(
            f"no home directory is known: set {HOME_VARIABLE} to the place of your sessions"
        ) from error


def _data_directory() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    # The XDG rules: a relative path there is to be ignored.
    data = os.environ.get("XDG_DATA_HOME", "")
    return Path(data) if os.path.isabs(data) else Path.home() / ".local" / "share"
