"""bt4vt 1.0.1 on its own, smaller job: EER and one cost of every group, and their ratios.

Usage: python -m benchmarks.peers.bt4vt_job SCORES SPEAKERS
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
import tempfile
from pathlib import Path

from bt4vt.core import SpeakerBiasTest


def main(scores: str, speakers: str) -> None:
    """Run bt4vt as its example does and print its overall EER, as a fraction."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "speaker_metadata_file": speakers,
            "results_dir": f"{folder}/",
            "id_column": "VoxCeleb1 ID",
            "select_columns": ["Gender", "Nationality"],
            "speaker_groups": [["Gender"], ["Nationality"], ["Gender", "Nationality"]],
            "reference_filepath_column": "ref_file",
            "test_filepath_column": "com_file",
            "label_column": "lab",
            "scores_column": "sc",
            "dataset_evaluation": False,
            "dcf_costs": [[0.05, 1.0, 1.0]],
        }
        config = Path(folder) / "config.yaml"
        # every JSON text is YAML
        config.write_text(json.dumps(settings), encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()):
            SpeakerBiasTest(scores, str(config)).run_tests()
        (written,) = Path(folder).glob("biastest_results_*.csv")
        with written.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    beside = {"average", "thresholds"}
    with_scores = [row for row in rows if row["EER"] != "NaN" and row["group_name"] not in beside]
    average = next(row for row in rows if row["group_name"] == "average")
    print(json.dumps({"eer": float(average["EER"]) / 100, "groups": len(with_scores)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
