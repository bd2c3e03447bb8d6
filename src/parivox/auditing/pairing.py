"""What pairs an audit with a later one of the same trials, without telling of any speaker.

See docs/methods/gates.md#paired-releases.

Two systems err on the same speakers. How much so is told by drawing the same speakers for both,
which two audits do apart if what they draw follows from the trials alone: each speaker weighs, in
each draw, an exponential number that a key makes of the id. The key is a hash of all ids and labels
of the list. Who does not hold the list cannot make the weights, without which the draws of a rate
tell nothing but how it varies.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.estimates import key_columns
from parivox.core.cluster_errors import safe_divide
from parivox.core.measures import RATES
from parivox.core.resampling import from_replicates, weighted
from parivox.data.trial_set import TrialSet
from parivox.errors import DataError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.auditing.schema import TableBuilder
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.auditing.system import CellMetrics, System
    from parivox.core.counts import FloatArray

N_DRAWS = 1000
MAX_PAIRED_SPEAKERS = 20_000
"""Of more speakers, audits are not paired."""
_SIZE = 16
_FINEST = 32_000 / 8
"""Steps of a draw: so many in a standard deviation of which eight are the most there is."""


@frozen
class Pairing:
    """Weights of the speakers of one list, and what follows from them for its thresholds."""

    list_sha256: str
    key: bytes  # known to who holds the list
    speaker_ids: Sequence[str]  # of speakers by number
    speakers_in_use: Sequence[int]  # speakers that have trials
    draw_weights: FloatArray  # weights of the audit's own draws, [draw, speaker]
    keyed_weights: FloatArray  # those that a key makes, likewise
    pooled_errors: SpeakerErrors  # all trials
    pooled_rate_draws: tuple[FloatArray, FloatArray]  # both rates of them by either weights
    threshold_shifts: tuple[FloatArray, ...]
    """How both rates of all trials move at the thresholds as they are, ``[draw, rate, point]``, in
    the audit's own draws and by the key: thresholds that are found on the trials follow."""

    @classmethod
    def from_system(cls, system: System) -> Pairing | None:
        """None where speakers are not known, are in blocks, too many, or not drawn."""
        trials, draws = system.trials, system.design.draws
        if system.speaker_sample is None or draws is None or not isinstance(trials, TrialSet):
            return None
        whole, people = system.speaker_sample.strata_uncertainty[0], trials.speaker_table
        n = draws.weights.shape[1]
        is_plain = not whole.has_speaker_blocks and trials.fits_in_memory and people is not None
        if not is_plain or whole.draw_estimates is None or n > MAX_PAIRED_SPEAKERS:
            return None
        assert people is not None
        digest = trials.list_digest
        key = hashlib.blake2b(digest, digest_size=_SIZE, person=b"parivox weights").digest()
        keyed = np.zeros((N_DRAWS, n))
        for i in trials.speakers_in_use.tolist():
            name = hashlib.blake2b(people.ids[i].encode(), digest_size=_SIZE, key=key).digest()
            own = np.random.default_rng(int.from_bytes(name, "little"))
            keyed[:, i] = own.exponential(size=N_DRAWS)
        weights = draws.weights.astype(np.float64)
        of_all = _drawn(whole.pooled_errors, weights), _drawn(whole.pooled_errors, keyed)
        rates = np.stack([whole.rate_intervals.intervals[metric].rate[:, -1] for metric in RATES])
        list_sha256 = hashlib.blake2b(digest, digest_size=_SIZE, person=b"parivox list")
        thresholds = tuple(np.nan_to_num(one[..., 0] - rates) for one in of_all)
        held = key, people.ids, trials.speakers_in_use.tolist()
        return cls(
            list_sha256.hexdigest(), *held, weights, keyed, whole.pooled_errors, of_all, thresholds
        )

    def member_hashes(self, one: CellMetrics) -> list[str]:
        """Return a hash of who is in each cell, by the key; empty where groups are no speakers'.

        Two audits of a list have the same hash of a group if it has the same people.
        """
        of_speaker = None if one.group_counts is None else one.group_counts.grouping.speaker_codes
        if of_speaker is None:
            return [""] * len(one.cell_names)
        members: list[list[str]] = [[] for _ in one.cell_names]
        for speaker in self.speakers_in_use:
            if (group := int(of_speaker[speaker])) >= 0:
                members[group].append(self.speaker_ids[speaker])
        hashes = []
        for names in members:
            digest = hashlib.blake2b(digest_size=_SIZE, key=self.key, person=b"parivox members")
            for name in sorted(names):
                digest.update(name.encode() + b"\n")
            hashes.append(digest.hexdigest() if names else "")
        return hashes


def add_pairing_rows(
    rows: TableBuilder, where: Mapping[str, Any], one: CellMetrics, pairing: Pairing | None
) -> None:
    """Draws of both rates of every cell at every operating point, but within levels."""
    uncertainty, draws = one.uncertainty, one.draws
    if pairing is None or uncertainty is None or draws is None or where["within"]:
        return
    texts = list(uncertainty.point_indices)
    if not texts:
        return
    keys = [(metric, "", text) for metric in RATES for text in texts]
    n, shape = len(one.cell_names), (-1, len(RATES), len(texts), len(one.cell_names))
    drawn = draws.with_keys(keys).values
    is_all, cells = uncertainty.pooled_errors is pairing.pooled_errors, one.group_counts is not None
    own, keyed = (
        np.concatenate(
            [
                *([_drawn(uncertainty.group_errors, weights)] if cells else []),
                of_all if is_all else _drawn(uncertainty.pooled_errors, weights),
            ],
            axis=-1,
        )
        for weights, of_all in zip(
            (pairing.draw_weights, pairing.keyed_weights), pairing.pooled_rate_draws, strict=True
        )
    )
    follows = np.logical_or(*(uncertainty.moves_with_threshold[metric] for metric in RATES))
    for i in np.flatnonzero(follows).tolist():
        off = np.nan_to_num(drawn.reshape(shape)[:, :, i] - own[:, :, i]).reshape(len(own), -1)
        slope = np.linalg.lstsq(pairing.threshold_shifts[0][..., i], off, rcond=None)[0]
        for again, moves in zip((own, keyed), pairing.threshold_shifts, strict=True):
            again[:, :, i] += (moves[..., i] @ slope).reshape(-1, len(RATES), n)
    speakers = uncertainty.n_units_behind([key[0] for key in keys])[:, -n:]
    df = np.where(speakers < uncertainty.options.minimums.inference, np.nan, speakers - 1.0)
    value = one.estimates.with_keys(keys).values
    plain, log = (from_replicates(value, drawn, df, scale=scale) for scale in ("linear", "log"))
    known = ~np.isnan(plain.se)
    fit = _correlations(own.reshape(drawn.shape), drawn)
    texts_of = encoded_draws(keyed.reshape(N_DRAWS, len(keys), n)[:, known])
    columns = key_columns(keys, n)
    chosen = np.flatnonzero(known.ravel()).tolist()
    names = list(one.cell_names) * len(keys)
    members = pairing.member_hashes(one)
    rows.add(
        **{name: value for name, value in where.items() if name != "within"},
        list_sha256=pairing.list_sha256,
        group=[names[i] for i in chosen],
        metric=[columns["metric"][i] for i in chosen],
        operating_point=[columns["operating_point"][i] for i in chosen],
        se=plain.se[known],
        log_se=log.se[known],
        fit=fit[known],
        draws=texts_of,
        members=[members[i % n] for i in chosen],
    )


def _drawn(tally: SpeakerErrors, weights: FloatArray) -> FloatArray:
    """Both rates at the thresholds as they are, ``[draw, rate, point, cell]``."""
    rates = [safe_divide(*weighted(tally.for_rate(metric), weights)) for metric in RATES]
    return np.stack(np.broadcast_arrays(*rates), axis=1)


def _correlations(one: FloatArray, other: FloatArray) -> FloatArray:
    """Of two rates over the draws that both have, ``[draw, ...]``; 0 where one does not vary."""
    known = np.isfinite(one) & np.isfinite(other)
    n = np.maximum(known.sum(axis=0), 1)
    a, b = (np.where(known, x - np.where(known, x, 0).sum(axis=0) / n, 0) for x in (one, other))
    return safe_divide((a * b).sum(axis=0), np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0)), 0.0)


def encoded_draws(drawn: FloatArray) -> list[str]:
    """Draws ``[draw, row]`` as text, in units that do not matter: a row each."""
    off = drawn - drawn.mean(axis=0)
    unit = np.sqrt(np.square(off).mean(axis=0))
    steps = np.clip(np.rint(safe_divide(off, unit, 0.0) * _FINEST), -32767, 32767).astype("<i2")
    return [base64.b64encode(row.tobytes()).decode() for row in np.ascontiguousarray(steps.T)]


def correlation(one: str, other: str) -> float:
    """How two rates go together over draws, in [-1, 1].

    Raises
    ------
    DataError
        If one is not what `coded` made.

    Examples
    --------
    >>> up, down = coded(np.array([[1.0, 3.0], [2.0, 2.0], [6.0, -2.0]]))
    >>> round(correlation(up, up), 6), round(correlation(up, down), 6)
    (1.0, -1.0)
    """
    try:
        a, b = (
            np.frombuffer(base64.b64decode(text, validate=True), "<i2").astype(np.float64)
            for text in (one, other)
        )
    except ValueError as error:
        msg = f"pairing.parquet: its draws are damaged ({error}); audit again, or remove the file"
        raise DataError(msg) from error
    if a.size != b.size or not (a.any() and b.any()):
        return 0.0
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1, 1))
