"""Why a node does not start, in one line for the operator."""


class ServerError(Exception):
    """The node was not started; its directories are as they were."""
