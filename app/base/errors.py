"""Errors, sorted by who must act. Their text is a whole sentence that says what to do.

They are translated at three borders: the providers' wire, the tool executor, and the application. Any other exception
is a bug and rises to its border.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from app.base.facts import Fact, Failed
from app.base.phrases import ENGLISH, NO_PHRASE, Phrase, Translations


class Remedy(StrEnum):
    """The one thing that a person can do about a failure, or about what Wisp told them."""

    AGAIN = "again"
    KEY = "key"
    SETTINGS = "settings"
    LOG = "log"
    EXTRA = "extra"
    PROVIDER = "provider"
    PRESSES = "presses"


class WispError(Exception):
    """Root of all errors whose text is a sentence for the model or the person.

    `what` says to both what is wrong; `hint` adds what only a model can do about it, `advice` what only a person can.
    `argument` is the argument of the call that is at fault, which only models read. `facts` are what was found out
    besides. The text of the error is for models; `why` holds the parts.

    `transient` marks a tool's failure worth the same try again (a timeout, a busy resource). Set it only if nothing has
    happened yet: an action that may have been carried out is never repeated.
    """

    remedy = Remedy.AGAIN
    is_for_model = False

    def __init__(
        self,
        what: str | Phrase = "",
        hint: str = "",
        *,
        advice: Phrase = NO_PHRASE,
        argument: str = "",
        facts: Sequence[Fact] = (),
        transient: bool = False,
    ) -> None:
        phrase = what if isinstance(what, Phrase) else Phrase(what)
        self.why = Failed(phrase, hint, self.is_for_model, advice, argument)
        self.facts = tuple(facts)
        self.transient = transient
        super().__init__(self.why.with_facts(self.facts))

    @property
    def phrase(self) -> Phrase:
        """What a person reads, still to be translated."""
        if self.is_for_model:
            return Phrase(str(self))
        parts = {"what": self.why.what, "advice": self.why.advice}
        return Phrase("{what} {advice}", parts) if self.why.advice.text else self.why.what

    def for_people(self, words: Translations = ENGLISH) -> str:
        """Return what a person reads, translated by `words`. A call that they wrote themselves is theirs to repair."""
        return str(self) if self.is_for_model else self.why.for_people(words)


class ToolMisuse(WispError):
    """The model called a tool wrongly: the sentence says how to repair the call."""

    is_for_model = True


class ToolFailed(WispError):
    """The call was correct but did not work. The sentence says what the model may do instead."""


class NeedsPerson(WispError):
    """Only the person can continue (a permission, a sign-in, an installation). The sentence says how."""

    remedy = Remedy.SETTINGS


class NeedsExtra(NeedsPerson):
    """A part of Wisp is missing that the person gets by one button."""

    remedy = Remedy.EXTRA


class ProviderError(WispError):
    """The model's service did not answer as it should."""


class Unreachable(ProviderError):
    """There was no connection, a stall, or a dropped stream. Trying again may help."""


class Refused(ProviderError):
    """The service refuses this request (key, model id, permission). Trying again changes nothing."""

    remedy = Remedy.SETTINGS


class KeyRefused(Refused):
    """The service does not accept the key, or there is none."""

    remedy = Remedy.KEY


class ToolsDeclined(Refused):
    """The model accepts no declared tools: ask again in a dialect that writes calls as text.

    The provider remembers it.
    """


class PictureRefused(Refused):
    """The service cannot read a picture of the conversation. It must be taken out before another try."""


class OverLimit(ProviderError):
    """Too many requests, or an overloaded service. `retry_after_s` is the pause that the service asked for, if any."""

    def __init__(
        self, sentence: str | Phrase, *, advice: Phrase = NO_PHRASE, retry_after_s: float | None = None
    ) -> None:
        super().__init__(sentence, advice=advice)
        self.retry_after_s = retry_after_s


class ContextOverflow(ProviderError):
    """The conversation is longer than the model can read. The history must shrink before another try."""


class BadAnswer(ProviderError):
    """The service's answer breaks the service's own wire format."""


class Cancelled(WispError):
    """The person stopped the action."""
