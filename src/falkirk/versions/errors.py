"""What can be wrong with a question to the release tables."""


class VersionsError(Exception):
    """Base of everything that the release tables raise on purpose; its text is one sentence for an operator."""


class UnknownReleaseError(VersionsError):
    """No release of that name is in the tables."""


class IncompleteReleaseError(VersionsError):
    """The release is in the tables with its API ranges only, and more was asked of it."""


class UnknownMetadataVersionError(VersionsError):
    """No metadata.version of that name or level exists, or the release at hand does not know it."""


class UnknownFeatureError(VersionsError):
    """The release has no feature of that name."""


class UnknownFeatureLevelError(VersionsError):
    """The feature has no such level in the release."""


class UnknownInterBrokerProtocolError(VersionsError):
    """No inter.broker.protocol.version of that name or level exists."""
