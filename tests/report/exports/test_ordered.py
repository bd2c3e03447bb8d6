"""A PDF whose objects were written in any order comes out in one, and whole."""

import re

from parivox.report.charts.draw import pdf_in_order

HEAD = b"%PDF-1.7\n%\x80\x80\x80\x80\n\n"
NAMES = (b"/fo0", b"/fo1")


def pdf_of(numbers, order):
    """A page with two fonts, its objects under any numbers, in any order."""
    page, first_font, second_font, content = numbers
    fonts = {first_font: b"/fo0 %d 0 R" % first_font, second_font: b"/fo1 %d 0 R" % second_font}
    entries = b"".join(b"      %b\n" % fonts[n] for n in order if n in fonts)
    bodies = {
        page: b"<<\n  /Font <<\n%b    >>\n  /Contents %d 0 R\n>>" % (entries, content),
        first_font: b"<<\n  /Name /A\n>>",
        second_font: b"<<\n  /Name /B\n>>",
        content: b"<<\n  /Length 9\n>>\nstream\n(7 0 R) Tj\nendstream",
    }
    text = HEAD
    places = {}
    for number in order:
        places[number] = len(text)
        text += b"%d 0 obj\n%b\nendobj\n\n" % (number, bodies[number])
    start = len(text)
    text += b"xref\n0 5\n" + b"".join(b"%010d 00000 n\r\n" % places[n] for n in sorted(places))
    return text + b"trailer\n<<\n  /Size 5\n  /Root %d 0 R\n>>\nstartxref\n%d\n%%%%EOF" % (
        page,
        start,
    )


def test_any_order_gives_the_same_bytes():
    ordered = pdf_in_order(pdf_of((1, 2, 3, 4), (1, 2, 3, 4)))
    assert pdf_in_order(pdf_of((1, 2, 3, 4), (4, 3, 2, 1))) == ordered
    assert pdf_in_order(pdf_of((2, 4, 1, 3), (1, 2, 3, 4))) == ordered
    assert pdf_in_order(ordered) == ordered


def test_every_place_in_the_table_is_that_of_its_object_and_streams_stay():
    text = pdf_in_order(pdf_of((3, 1, 4, 2), (4, 1, 3, 2)))
    start = int(text.rpartition(b"startxref\n")[2].partition(b"\n")[0])
    assert text[start:].startswith(b"xref\n0 5\n")
    places = re.findall(rb"^(\d{10}) 00000 n $", text[start:], flags=re.MULTILINE)
    assert len(places) == 4
    for number, offset in enumerate(places, 1):
        assert text[int(offset) :].startswith(b"%d 0 obj\n" % number)
    assert b"(7 0 R) Tj" in text
