"""The inner loops of the bulk decoders, in numpy: each step of the format is one operation over all rows.

Positions count in `data`, an array of bytes. No kernel reads outside `data` or allocates by a number that it read:
reads are gathers with clipping, so a position that ran away reads other bytes of `data`, and whether a row is sound is
decided at the end, by where it stopped. Rows that are not sound go to the row codec, which has the reason.
"""

from typing import Final

NULL: Final = -1
"""Size or count of a null."""
ABSENT: Final = -2
"""Count, or position, of a tagged field that is absent."""
