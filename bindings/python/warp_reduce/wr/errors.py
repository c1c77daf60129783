"""What a person is told, in one line, when wr cannot go on."""

from .._errors import WarpReduceError

# The job failed: exit status 1.
WrError = WarpReduceError


class UsageError(Exception):
    """The command line makes no sense: exit status 2."""
