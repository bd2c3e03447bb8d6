"""Draws that pair an audit with a later one of the same trials, without revealing any speaker.

See docs/methods/gates.md#paired-releases.

Two systems err on the same speakers. Drawing the same speakers for both shows how much so. Two
audits can do so separately if their draws depend on the trials only: each speaker weighs, in each
draw, an exponential number that a key makes of the id. The key is a hash of all ids and labels of
the list. The weights cannot be made without the list, and without the weights the draws of a rate
show only how it varies.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.estimates import key_columns
from parivox.core.cluster_errors import safe_divide
from parivox.core.resampling import from_replicates, weighted_by_each
from parivox.errors import DataError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.auditing.schema import TableBuilder
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.auditing.system import GroupingMetrics, System
    from parivox.core.counts import FloatArray
    from parivox.core.resampling import Weights

N_DRAWS = 1000  # the same in all audits, as their draws are paired by number
MAX_PAIRED_SPEAKERS = 20_000
"""With more speakers, audits are not paired."""
_DIGEST_SIZE = 16
_STEPS_PER_DEVIATION = 32_000 / 8
"""Steps that draws are rounded to, in a standard deviation: at most eight fit into 16 bits."""


@frozen
class Pairing:
    """Weights of the speakers of one list, and how they move the rates of all trials."""

    list_sha256: str
    key: bytes  # known to those who hold the list
    speaker_ids: Sequence[str]  # of speakers by number
    speakers_in_use: Sequence[int]  # speakers that have trials
    draw_weights: Weights  # weights of the audit's draws, [draw, speaker]
    keyed_weights: FloatArray  # weights that the key makes, [draw, speaker]
    pooled_errors: SpeakerErrors  # all trials
    pooled_rate_draws: tuple[FloatArray, FloatArray]  # the rates of all trials by either weights
    threshold_shifts: tuple[FloatArray, ...]
    """How the rates of all trials move at fixed thresholds, ``[draw, rate, point]``, in the
    audit's draws and by the key: thresholds that are set on the trials move with them."""

    @classmethod
    def from_system(cls, system: System) -> Pairing | None:
        """Return the pairing; None where speakers are unknown, in blocks, too many or not drawn."""
        trials, draws = system.trials.whole_list, system.design.draws
        if system.system_uncertainty is None or draws is None or trials is None:
            return None
        all_trials_sample = system.system_uncertainty.strata_uncertainty[0]
        speaker_table = trials.speaker_table
        n_speakers = draws.weights.shape[1]
        if all_trials_sample.errors_of_speakers is None:
            return None
        if all_trials_sample.draw_estimates is None or n_speakers > MAX_PAIRED_SPEAKERS:
            return None
        if speaker_table is None:
            return None
        digest = trials.list_digest
        key = hashlib.blake2b(digest, digest_size=_DIGEST_SIZE, person=b"parivox weights").digest()
        keyed_weights = np.zeros((N_DRAWS, n_speakers))
        for number in trials.speakers_in_use.tolist():
            speaker_hash = hashlib.blake2b(
                speaker_table.ids[number].encode(), digest_size=_DIGEST_SIZE, key=key
            ).digest()
            rng = np.random.default_rng(int.from_bytes(speaker_hash, "little"))
            keyed_weights[:, number] = rng.exponential(size=N_DRAWS)
        weights = draws.weights
        pooled_rate_draws = _rates_of_draws(
            all_trials_sample.pooled_errors, (weights, keyed_weights)
        )
        rates = np.stack(
            [
                all_trials_sample.rate_intervals.intervals[metric].rate[:, -1]
                for metric in all_trials_sample.pooled_errors.rates
            ]
        )
        list_sha256 = hashlib.blake2b(digest, digest_size=_DIGEST_SIZE, person=b"parivox list")
        threshold_shifts = tuple(
            np.nan_to_num(rate_draws[..., 0] - rates) for rate_draws in pooled_rate_draws
        )
        return cls(
            list_sha256=list_sha256.hexdigest(),
            key=key,
            speaker_ids=speaker_table.ids,
            speakers_in_use=trials.speakers_in_use.tolist(),
            draw_weights=weights,
            keyed_weights=keyed_weights,
            pooled_errors=all_trials_sample.pooled_errors,
            pooled_rate_draws=pooled_rate_draws,
            threshold_shifts=threshold_shifts,
        )

    def member_hashes(self, measured: GroupingMetrics) -> list[str]:
        """Return a keyed hash of the speakers of each cell; empty where groups are not of speakers.

        Two audits of a list have the same hash of a group if it has the same speakers.
        """
        speaker_codes = None
        if measured.group_counts is not None:
            speaker_codes = measured.group_counts.grouping.speaker_codes
        if speaker_codes is None:
            return [""] * len(measured.cell_names)
        ids_by_group: list[list[str]] = [[] for _ in measured.cell_names]
        for speaker in self.speakers_in_use:
            group = int(speaker_codes[speaker])
            if group >= 0:
                ids_by_group[group].append(self.speaker_ids[speaker])
        hashes = []
        for speaker_ids in ids_by_group:
            digest = hashlib.blake2b(
                digest_size=_DIGEST_SIZE, key=self.key, person=b"parivox members"
            )
            for speaker_id in sorted(speaker_ids):
                digest.update(speaker_id.encode() + b"\n")
            hashes.append(digest.hexdigest() if speaker_ids else "")
        return hashes


def add_pairing_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    measured: GroupingMetrics,
    pairing: Pairing | None,
) -> None:
    """Add draws of the error rates of every cell at every operating point, except within strata."""
    uncertainty, draws = measured.uncertainty, measured.draws
    if pairing is None or uncertainty is None or draws is None or audit_keys["within"]:
        return
    texts = list(uncertainty.point_indices)
    if not texts:
        return
    rates_of_trials = uncertainty.pooled_errors.rates
    keys = [(metric, "", text) for metric in rates_of_trials for text in texts]
    n_cells = len(measured.cell_names)
    shape = (-1, len(rates_of_trials), len(texts), n_cells)
    draw_values = draws.with_keys(keys).values
    both_weights = pairing.draw_weights, pairing.keyed_weights
    rates_by_weights = pairing.pooled_rate_draws
    if uncertainty.pooled_errors is not pairing.pooled_errors:
        rates_by_weights = _rates_of_draws(uncertainty.pooled_errors, both_weights)
    group_rates_by_weights: Sequence[tuple[FloatArray, ...]] = [(), ()]
    if measured.group_counts is not None:
        group_draws = _rates_of_draws(uncertainty.group_errors, both_weights)
        group_rates_by_weights = [(group_rates,) for group_rates in group_draws]
    audit_rates, keyed_rates = (
        np.concatenate((*group_rates, pooled_rates), axis=-1)
        for group_rates, pooled_rates in zip(group_rates_by_weights, rates_by_weights, strict=True)
    )
    # rates at fixed thresholds: what thresholds set anew add is regressed on how rates of all move
    moves = np.logical_or.reduce(
        [uncertainty.moves_with_threshold[metric] for metric in rates_of_trials]
    )
    for i in np.flatnonzero(moves).tolist():
        residuals = np.nan_to_num(
            draw_values.reshape(shape)[:, :, i] - audit_rates[:, :, i]
        ).reshape(len(audit_rates), -1)
        slope = np.linalg.lstsq(pairing.threshold_shifts[0][..., i], residuals, rcond=None)[0]
        for drawn_rates, shifts in zip(
            (audit_rates, keyed_rates), pairing.threshold_shifts, strict=True
        ):
            drawn_rates[:, :, i] += (shifts[..., i] @ slope).reshape(
                -1, len(rates_of_trials), n_cells
            )
    speakers = uncertainty.n_units_behind([key[0] for key in keys])[:, -n_cells:]
    df = np.where(speakers < uncertainty.options.minimums.inference, np.nan, speakers - 1.0)
    estimated = measured.estimates.with_keys(keys).values
    linear, logarithmic = (
        from_replicates(estimated, draw_values, df, scale=scale) for scale in ("linear", "log")
    )
    has_spread = ~np.isnan(linear.se)
    audit_rates = audit_rates.reshape(draw_values.shape)
    # key by key, for memory
    fits_of_keys = [_correlations(audit_rates[:, i], draw_values[:, i]) for i in range(len(keys))]
    fit = np.stack(fits_of_keys)
    del audit_rates
    encoded = encoded_draws(keyed_rates.reshape(N_DRAWS, len(keys), n_cells)[:, has_spread])
    columns = key_columns(keys, n_cells)
    row_indices = np.flatnonzero(has_spread.ravel()).tolist()
    row_groups = list(measured.cell_names) * len(keys)
    hashes = pairing.member_hashes(measured)
    rows.add(
        **{name: estimated for name, estimated in audit_keys.items() if name != "within"},
        list_sha256=pairing.list_sha256,
        group=[row_groups[i] for i in row_indices],
        metric=[columns["metric"][i] for i in row_indices],
        operating_point=[columns["operating_point"][i] for i in row_indices],
        se=linear.se[has_spread],
        log_se=logarithmic.se[has_spread],
        fit=fit[has_spread],
        draws=encoded,
        members=[hashes[i % n_cells] for i in row_indices],
    )


def _rates_of_draws(
    errors: SpeakerErrors, both_weights: tuple[Weights, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return error rates at fixed thresholds, ``[draw, rate, point, cell]``, by both weights."""
    counts_by_rate = [
        weighted_by_each(errors.for_rate(metric), both_weights) for metric in errors.rates
    ]
    audit_rates, keyed_rates = (
        [safe_divide(*errors_and_trials) for errors_and_trials in counts]
        for counts in zip(*counts_by_rate, strict=True)
    )
    return (
        np.stack(np.broadcast_arrays(*audit_rates), axis=1),
        np.stack(np.broadcast_arrays(*keyed_rates), axis=1),
    )


def _correlations(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return correlations over draws that both have, ``[draw, ...]``; 0 where one is constant."""
    is_finite = np.isfinite(first) & np.isfinite(second)
    n_finite = np.maximum(is_finite.sum(axis=0), 1)
    a, b = (
        np.where(is_finite, rates - np.where(is_finite, rates, 0).sum(axis=0) / n_finite, 0)
        for rates in (first, second)
    )
    return safe_divide((a * b).sum(axis=0), np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0)), 0.0)


def encoded_draws(draw_values: FloatArray) -> list[str]:
    """Return draws ``[draw, row]`` as text, one for each row, without their unit."""
    deviations = draw_values - draw_values.mean(axis=0)
    unit = np.sqrt(np.square(deviations).mean(axis=0))
    steps = np.clip(
        np.rint(safe_divide(deviations, unit, 0.0) * _STEPS_PER_DEVIATION), -32767, 32767
    ).astype("<i2")
    return [base64.b64encode(row.tobytes()).decode() for row in np.ascontiguousarray(steps.T)]


def correlation(first: str, second: str) -> float:
    """Return the correlation of two rates over draws, in [-1, 1].

    Raises
    ------
    DataError
        If one is not what `encoded_draws` made.

    Examples
    --------
    >>> up, down = encoded_draws(np.array([[1.0, 3.0], [2.0, 2.0], [6.0, -2.0]]))
    >>> round(correlation(up, up), 6), round(correlation(up, down), 6)
    (1.0, -1.0)
    """
    try:
        a, b = (
            np.frombuffer(base64.b64decode(text, validate=True), "<i2").astype(np.float64)
            for text in (first, second)
        )
    except ValueError as error:
        msg = f"pairing.parquet: its draws are damaged ({error})"
        hint = "audit again, or remove the file"
        raise DataError(msg, hint) from error
    if a.size != b.size or not (a.any() and b.any()):
        return 0.0
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1, 1))
