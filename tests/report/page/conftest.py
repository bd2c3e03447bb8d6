"""Pages of small audits, and what stands in them."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import parivox as pv

VOID = {"meta", "input", "br", "path", "circle", "line", "rect", "use"}


class Reader(HTMLParser):
    """Elements of a page with their attributes and text, in order."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.texts = []
        self._inside = []

    def handle_starttag(self, tag, attrs):
        self._inside.append(tag)
        self.elements.append((tag, dict(attrs)))
        if tag in VOID:
            self._inside.pop()

    def handle_endtag(self, tag):
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, text):
        if not {"script", "style"} & set(self._inside[-1:]):
            self.texts.append(text)

    def elements_of(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.texts).replace("\u00a0", " ").split())


@pytest.fixture
def read():
    def parsed(html):
        reader = Reader()
        reader.feed(html)
        reader.close()
        return reader

    return parsed


@pytest.fixture(scope="module")
def without_figures():
    """Make pages quick: figures have tests of their own, and one here."""
    from parivox.report.html import assembly

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembly, "_begin_drawing", lambda _: None)
        patch.setattr(
            assembly, "_embedded_figures", lambda _: {name: [] for name in assembly.SECTIONS}
        )
        yield


@pytest.fixture(scope="session")
def small(audited):
    return audited(by=["gender", "gender+nation"], operating_points=["fpr=0.05"])


@pytest.fixture(scope="session")
def named(audited):
    """An audit that kept the ids of speakers behind most errors."""
    return audited(by=["gender"], operating_points=["fpr=0.05"], speaker_ids="offenders")


@pytest.fixture(scope="module")
def html(small, without_figures):
    from parivox.report.html import html_report

    return html_report(small)


@pytest.fixture(scope="session")
def odd():
    """Audit scores of groups with any names: `odd(names, ...)`."""

    def audit(names, *, target=True, nontarget=True, absent=(), **options):
        ids = [f"s{i}" for i in range(3 * len(names))]
        trials = {"enrol": [], "test": [], "score": [], "label": []}
        tested = [utterance_id for i, utterance_id in enumerate(ids) if names[i // 3] not in absent]
        for i, utterance_id in enumerate(tested):
            impostor_ids = [tested[(i + k) % len(tested)] for k in range(1, 4)] if nontarget else []
            for k, test_id in enumerate([utterance_id, utterance_id] * target + impostor_ids):
                trials["enrol"].append(f"{utterance_id}/a")
                trials["test"].append(f"{test_id}/b{k}")
                trials["score"].append(
                    float((i * 7 + k * 5) % 11) - 2.0 * (test_id != utterance_id)
                )
                trials["label"].append(int(test_id == utterance_id))
        speakers = {"id": ids, "kind": [names[i // 3] for i in range(len(ids))]}
        options = {"replicates": 50, "by": "kind", "operating_points": ["threshold=4"]} | options
        return pv.audit({"model": trials}, speakers=speakers, **options)

    return audit
