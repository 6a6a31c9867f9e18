"""Wires: a context's items as the body of a provider's request.

Entries hold one provider-neutral form. These pure functions turn it into the messages of
chat completions, of Anthropic Messages and the input of the Responses API, under a
:class:`Profile` where an agent's release spells things its own way. They never drop,
reorder or merge whole messages beyond what a wire requires; which items a request holds is
what the entries say. Spec: decision D1.

>>> import agentsession as ags
>>> from agentsession import wire
>>> session = ags.Session()
>>> hello = {"type": "message", "role": "user", "content": "Hello"}
>>> _ = session.append(ags.ItemEntry(hello))
>>> wire.chat_messages(wire.pieces(session.path()))
[{'role': 'user', 'content': 'Hello'}]
"""

from agentsession.wire.anthropic import anthropic_messages
from agentsession.wire.chat import chat_messages
from agentsession.wire.origin import (
    Origin,
    Piece,
    Target,
    origin_of,
    pieces,
    request_pieces,
    target_of,
)
from agentsession.wire.profile import DEFAULT, Foreign, Media, Profile, References, Wire
from agentsession.wire.responses import responses_input

__all__ = [
    "DEFAULT",
    "Foreign",
    "Media",
    "Origin",
    "Piece",
    "Profile",
    "References",
    "Target",
    "Wire",
    "anthropic_messages",
    "chat_messages",
    "origin_of",
    "pieces",
    "request_pieces",
    "responses_input",
    "target_of",
]
