"""Errors of lookups in the release tables."""


class VersionsError(Exception):
    """Base of the errors of the release tables; the text is one sentence for an operator."""


class UnknownReleaseError(VersionsError):
    """No release of that name is in the tables."""


class IncompleteReleaseError(VersionsError):
    """The tables hold only the API ranges of the release."""


class UnknownMetadataVersionError(VersionsError):
    """No metadata.version of that name or level exists, or the release at hand does not know it."""


class UnknownFeatureError(VersionsError):
    """The release has no feature of that name."""


class UnknownFeatureLevelError(VersionsError):
    """The feature has no such level in the release."""


class UnknownInterBrokerProtocolError(VersionsError):
    """No inter.broker.protocol.version of that name or level exists."""
