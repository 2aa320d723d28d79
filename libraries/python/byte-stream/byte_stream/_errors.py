"""The exceptions of the package."""


class StreamError(OSError):
    """The bytes are not what was announced or expected, or a server refused.

    As all errors of this package it has `kind`, `offset`, `status` and `retryable`.
    """

    kind: str
    offset: "int | None"
    status: "int | None"
    retryable: bool

    def __reduce__(self):
        # `OSError` alone leaves out a name without a number.
        return type(self), self.args, {**self.__dict__, "filename": self.filename}

    def __str__(self) -> str:
        # An `OSError` with a name writes the number of the system, which there is none of.
        return str(self.args[0]) if len(self.args) == 1 else super().__str__()


class StreamTimeoutError(StreamError, TimeoutError):
    """A time limit has passed."""


class StreamConnectionError(StreamError, ConnectionError):
    """The host has no address, or a proxy could not connect."""
