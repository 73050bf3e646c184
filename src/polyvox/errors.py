"""Every error Polyvox raises, as one tree. A message says what happened, a hint what to do.

PolyvoxError
├── BadInput            400  the request cannot be understood
│   └── Invalid         422  understood, but not acceptable (empty, too long, wrong type)
├── NotAuthorized       401  a token is needed
├── Forbidden           403  foreign host or origin
├── NotFound            404  no such thing
├── Conflict            409  the thing is in another state, or the key has another body
├── TooLarge            413  more bytes than we take
├── CapReached          402  a spending cap of the user's own
├── ConfigError         (start-up) the configuration cannot be used
├── StoreError          503  the database cannot be read or written now
│   └── StoreFull       507  no space left
└── ModelError               a provider failed; its category says how
    ├── AuthenticationFailed    authentication
    ├── QuotaExceeded           quota
    ├── RateLimited             rate_limit      (transient)
    ├── ModelTimeout            timeout         (transient)
    ├── Unavailable             unavailable     (transient)
    ├── Refused                 refused
    ├── ContextTooLong          context_too_long
    ├── ProtocolError           protocol
    └── EmptyAnswer             empty
"""

from __future__ import annotations

from polyvox.values import Failure


class PolyvoxError(Exception):
    """An error that every door can show: a code, a message, a hint, and an HTTP status."""

    code = "error"
    status = 500

    def __init__(self, message: str, hint: str = "", *, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.param = param


class BadInput(PolyvoxError):
    """The request cannot be understood."""

    code = "bad_input"
    status = 400


class Invalid(BadInput):
    """The request is understood, but a value in it is not acceptable."""

    code = "invalid"
    status = 422


class NotAuthorized(PolyvoxError):
    """A token is needed, or the one given is wrong."""

    code = "not_authorized"
    status = 401


class Forbidden(PolyvoxError):
    """The request came from a foreign page or names a foreign host."""

    code = "forbidden"
    status = 403


class NotFound(PolyvoxError):
    """There is no such thing (or it belongs to somebody else)."""

    code = "not_found"
    status = 404


class Conflict(PolyvoxError):
    """The thing is in a state that does not allow this."""

    code = "conflict"
    status = 409


class TooLarge(PolyvoxError):
    """More bytes than we take."""

    code = "too_large"
    status = 413


class CapReached(PolyvoxError):
    """A spending cap that the user set would be passed."""

    code = "cap_reached"
    status = 402


class ConfigError(PolyvoxError):
    """The configuration cannot be used."""

    code = "config"
    status = 500


class StoreError(PolyvoxError):
    """The database cannot be read or written now."""

    code = "store_unavailable"
    status = 503


class StoreFull(StoreError):
    """There is no space left for the database."""

    code = "store_full"
    status = 507


class ModelError(PolyvoxError):
    """A model could not answer. `category` is a word of a closed list."""

    code = "model_error"
    status = 502
    category = "unavailable"
    transient = False

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        http_status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.http_status = http_status
        self.retry_after = retry_after

    @property
    def failure(self) -> Failure:
        """This error as a value that can be stored and shown."""
        return Failure(self.category, self.message, self.hint)


class AuthenticationFailed(ModelError):
    """The provider does not accept the key, or there is none."""

    code = category = "authentication"


class QuotaExceeded(ModelError):
    """The account has no credit left, or a cap is reached."""

    code = category = "quota"


class RateLimited(ModelError):
    """Too many requests; the provider may say when to come back."""

    code = category = "rate_limit"
    status = 503
    transient = True


class ModelTimeout(ModelError):
    """No first byte, a stall, or the deadline passed."""

    code = category = "timeout"
    status = 504
    transient = True


class Unavailable(ModelError):
    """The provider cannot be reached, or failed on its side."""

    code = category = "unavailable"
    status = 503
    transient = True


class Refused(ModelError):
    """The provider or the model declined this request."""

    code = category = "refused"


class ContextTooLong(ModelError):
    """The request does not fit the model's window."""

    code = category = "context_too_long"


class ProtocolError(ModelError):
    """The reply is not in the form that the wire format promises."""

    code = category = "protocol"


class EmptyAnswer(ModelError):
    """The stream ended properly without a word."""

    code = category = "empty"


MODEL_ERRORS: dict[str, type[ModelError]] = {
    kind.category: kind for kind in ModelError.__subclasses__()
}
"""The closed list of categories, each with its error."""
