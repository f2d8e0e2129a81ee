"""Charts as files: whole by themselves, with their settings inside."""

import json
import re
import struct
import zlib
from dataclasses import replace
from pathlib import Path

from embtie_widgets.charts import files
from embtie_widgets.charts.alignment import plots
from embtie_widgets.charts.files import Plots, result_page, stamp_of, stamped
from tests.sample_results import pair_result

HOSTILE = json.dumps({"models": {"A": "</script><script>alert(1)</script>", "é": "<!--"}})


def tiny_png() -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    data = zlib.compress(b"\0\0")
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def test_a_page_holds_its_settings_as_data_that_cannot_end_its_block() -> None:
    page = result_page(plots(pair_result()), HOSTILE)
    block = re.search(r'<script type="application/json" id="embtie-settings">(.*?)</script>', page)
    assert block is not None
    assert json.loads(block[1]) == json.loads(HOSTILE)
    assert "alert(1)</script>" not in page


def test_a_page_needs_nothing_else_and_says_what_it_shows() -> None:
    page = result_page(plots(pair_result()), "{}")
    assert not re.search(r"<(script|link|img|iframe)\b[^>]*\b(src|href)=", page[:3000])
    ours = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "http" not in ours
    assert "src=" not in ours
    assert "Plotly.newPlot" in page
    assert "<title>The tied matrix is closer to the untied output" in page
    assert "n = 299 tokens" in page


def test_a_models_name_is_no_markup_in_a_page() -> None:
    result = pair_result()
    models = {"A": {"name": "</script><img src=x>"}, "B": {"name": "b"}}
    assert "<img" not in result_page(plots(replace(result, models=models)), "{}")


def test_a_picture_keeps_its_chunks_whole_with_the_settings_among_them() -> None:
    png = stamped(tiny_png(), HOSTILE)
    assert stamp_of(png) == json.loads(HOSTILE)
    assert stamp_of(tiny_png()) is None
    place, kinds = 8, []
    while place < len(png):
        (size,) = struct.unpack(">I", png[place : place + 4])
        body = png[place + 4 : place + 8 + size]
        (check,) = struct.unpack(">I", png[place + 8 + size : place + 12 + size])
        assert zlib.crc32(body) == check
        kinds.append(body[:4])
        place += 12 + size
    assert kinds == [b"IHDR", b"tEXt", b"IDAT", b"IEND"]


def test_a_page_fits_its_window_and_its_caption_is_text_that_wraps() -> None:
    page = result_page(plots(pair_result()), "{}")
    ours = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert re.search(r'<p class="caption">n = 299 tokens.*seed 0.*</p>', ours)
    assert '"responsive": true' in page
    assert '"width":900' not in page
    assert 'name="viewport"' in page


def test_a_page_carries_the_narrow_layout_of_a_chart_and_the_width_that_one_needs() -> None:
    bare = {"data": [], "layout": {"height": 300}}
    for extra, words in (({"narrow": {"height": 501}}, '"height": 501'), ({"least": 515}, "515px")):
        assert words in result_page(Plots("a", (({**bare, **extra}, "b"),)), "{}")
    plain = result_page(Plots("a", ((bare, "b"),)), "{}")
    assert "relayout(box" not in plain
    assert 'class="wide"' not in plain


def test_no_chart_is_drawn_by_webgl_whose_programs_a_served_page_does_not_run() -> None:
    folder = Path(files.__file__).parent
    for source in folder.glob("*.py"):
        text = source.read_text(encoding="utf-8")
        assert not re.search(r"[\"'](\w+gl|\w+3d|surface|parcoords|splom)[\"']", text), source.name
