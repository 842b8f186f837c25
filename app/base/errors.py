"""Errors, sorted by who must act. Their text is a whole sentence that says what to do.

Three borders translate them: the providers' wire, the tool executor, the application. Everything that is
not one of these is a bug of ours and rises to the border it belongs to.
"""

from __future__ import annotations


class WispError(Exception):
    """Root of all errors whose text is a sentence for the model or the person."""


class ToolMisuse(WispError):
    """The model called a tool wrongly: the sentence says how to repair the call."""


class ToolFailed(WispError):
    """The call was right and did not work: the sentence says what the model may do otherwise.

    `transient` marks failures worth trying again unchanged (a timeout, a busy resource). It may only be set where
    nothing has happened yet: an action that may have been carried out is never repeated.
    """

    def __init__(self, sentence: str, *, transient: bool = False) -> None:
        super().__init__(sentence)
        self.transient = transient


class NeedsPerson(WispError):
    """Only the person can go on (a permission, a sign-in, something to install): the sentence is the instruction."""


class ProviderError(WispError):
    """The model's service did not answer as it should."""


class Unreachable(ProviderError):
    """No connection, a stall, or a dropped stream: worth trying again."""


class Refused(ProviderError):
    """The service will not serve this request (key, model id, permission): trying again changes nothing."""


class ToolsDeclined(Refused):
    """The model takes no declared tools: ask again in a dialect that writes calls as text. The provider remembers."""


class OverLimit(ProviderError):
    """Too many requests or an overloaded service; `retry_after_s` is what the service asked for, if it did."""

    def __init__(self, sentence: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(sentence)
        self.retry_after_s = retry_after_s


class ContextOverflow(ProviderError):
    """The conversation is longer than the model can read: the history must shrink before another try."""


class BadAnswer(ProviderError):
    """The service answered something that its own wire format does not allow."""


class Cancelled(WispError):
    """The person stopped it."""
