"""What a person is told, in one line, when wr cannot go on."""


class WrError(Exception):
    """The job failed: exit status 1."""


class UsageError(Exception):
    """The command line makes no sense: exit status 2."""
