"""Front ends: from a waveform to what a network sees, in NumPy, by the rules of who trained it.

Each stands in a module that says its rules; :mod:`parivox.embedding.frontends.spectra` holds the
pieces they share.
"""

from __future__ import annotations

from parivox.embedding.frontends.clova import CLOVA40, CLOVA64, ECAPA80
from parivox.embedding.frontends.frontend import FrontEnd
from parivox.embedding.frontends.ge2e import ge2e40
from parivox.embedding.frontends.kaldi import KALDI80
from parivox.embedding.frontends.speechbrain import SPEECHBRAIN80

__all__ = ["FRONTENDS", "FrontEnd"]

_GE2E40 = FrontEnd("ge2e40", 16_000, 40, ge2e40, least_samples=1)

FRONTENDS: dict[str, FrontEnd] = {
    each.name: each for each in (KALDI80, CLOVA40, CLOVA64, ECAPA80, SPEECHBRAIN80, _GE2E40)
}
"""Every front end by its name."""
