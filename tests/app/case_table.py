"""What a page has to say in each of the cases of people's reports, for a kernel and a browser.

Of some nothing can be seen on a page that strangers open; `ELSEWHERE` says why, and where they are
tried.
"""

import re
from typing import Any
from urllib.parse import urlencode

from tests.app.case_models import MAKERS
from tests.app.case_pairs import HOSTILE_PAIR
from tests.sources.test_families import FAMILIES

_NOT_OFFERED = r"only models that its owner offers are opened, and there is none called "
# Case: (model A, model B or the same, what the panel of alignment says).
ALIGNED = {
    "C001": ("c001-flag", "", r"untied.*The configuration says tied, but the files hold two diff"),
    "C003": ("c003-copies", "", r"256 \(512 stored\).*equal values, stored twice"),
    "C007": ("c007-nested", "", r"tied.*32 × 8"),
    "C010": ("c010-narrow", "", r"tied.*32 × 4"),
    "C011": ("c011-no-head", "", r"input only.*This checkpoint has no output matrix"),
    "C012a": ("c012-shard", "", r"head unavailable.*lacks the file model-\d+-of-\d+\.safetensors"),
    "C012c": ("c012-cut", "", r"model\.safetensors is cut short\. Download it again"),
    "C012d": ("c012-pointer", "", r"is a Git LFS pointer, not the weights"),
    "C012e": ("c012-empty", "", r"model\.safetensors is empty"),
    "C013a": ("c013-grown", "", r"In: rows 32 to 39 \(8\) are all but the mean row"),
    "C013b": ("c013-heights", "", r"40 × 8 \(output: 32 rows\).*only the first 32 are used"),
    "C014": ("c014-a", "c014-b", r"1\.000 \[1\.000, 1\.000\].*547 × 32.*560 × 32.*500 0 0 47 60 0"),
    "C015": ("c015-hole", "", r"n = 3 tokens.*4 × 2.*fits any target.*means nothing"),
    "C017": (
        "c017-pieces",
        "c017-bytes",
        r"n = 258 tokens.*258 0 4 0 0 4.*a text token goes befor",
    ),
    "C018": (
        *HOSTILE_PAIR,
        r"n = 320 tokens; folder <img src=x onerror=alert\(1\)> and folder \$x",
    ),
    "C020": ("c020-bfloat16", "", r"stored as bfloat16"),
    "C021": ("c021-nan", "", r"n = 198 tokens \(2 without value\)"),
    "C024": ("c024-few", "", r"Fewer tokens than dimensions: 8 usable rows for 16 columns"),
    "C024 chance": ("c024-chance", "", r"In → Out 0\.15\d \S+ \S+ \S+ \S+ \S+ 0\.15\d 0\.158 "),
    "C043": ("no-such-model", "", rf"{_NOT_OFFERED}'no-such-model'\. Choose one"),
    "C051": ("nobody/gated", "", rf"{_NOT_OFFERED}'nobody/gated'\. Choose one"),
    "C053a": ("c053-olmo", "", r"tied.*60 0 0 4 4 0.*code of its own; it was not run.*-hf"),
    "C053c": ("c053-pickle", "", r"untied.*32 × 8"),
    "C053d": ("c053-command", "", r"holds more than tensors.*nothing in it was run"),
}
REFUSED = {"C012c", "C012d", "C012e", "C024", "C043", "C051", "C053d"}
# What the larger ones say, which only a browser is asked for.
LARGE = {
    "C027": ("c027-tall", "", r"n = 60,000 tokens.*60,000 × 32"),
    "C046": ("c046-equal", "", r"n = 151,936 tokens.*151,936 × 8"),
    "C048": ("c048-untied", "c048-tied", r"n = 65,536 tokens.*65,536 × 256"),
}
FAMILY = {
    name: ("tied" if head == "tied" else "untied")
    for name, (_, _, head) in FAMILIES.items()
    if f"c008-{name}" in MAKERS
}
WORDS = " ".join(f"w{number % 32}" for number in range(3, 90, 2))
_READ = {"kind": "lens", "lens": "logit", "length": "16", "text": WORDS}
_OWN = r"own logits to within \S+ and \S+;"
# Case: (what its link asks, what its panel says).
LINKED: dict[str, tuple[dict[str, Any], str]] = {
    "C010": ({**_READ, "a": "c010-narrow", "b": "c030-cohere"}, r"c010-narrow.*32 × 4"),
    **{
        f"C025 {how}": (
            {"kind": "align", "map": "orthogonal", "a": "c025-rows", "b": f"c025-{how}"},
            r"orthogonal map, centred.*In → Tied 1\.000 \[1\.000, 1\.000\] .* 0\.232 ",
        )
        for how in ("turned", "mirrored")
    },
    "C030": ({**_READ, "a": "c030-cohere", "b": "c030-granite"}, _OWN),
    "C030 heads": (
        {**_READ, "a": "c030-heads", "b": "c030-cohere"},
        r"num_attention_heads is 2, which is no multiple of num_key_value_heads, 16\.",
    ),
    "C032": ({**_READ, "a": "c032-bias", "b": "c033-gemma"}, r"own logits to within 0 and 0;"),
    "C035": (
        {**_READ, "a": "c035-overflow", "b": "c033-gemma", "precision": "float16"},
        r"c033-gemma is 8\.7\d bits .* c035-overflow: no value, since .*float32 or bfloat16",
    ),
    "C040": (
        {"kind": "checkpoints", "model": "c040-steps"},
        r"step0 0 .*step2 2 .*step512 512 .*step1000 1,000 ",
    ),
}
ELSEWHERE = {
    "C005": "a public page opens no model object; tests/sources/test_live_models.py",
    "C012b": "shows in values alone, not in words; tests/sources/test_incomplete.py",
    "C012f": "has the words of C012a; tests/sources/test_incomplete.py",
    "C029": "no file of a model can bring a class of its own; tests/measures/test_lens_cases.py",
    "C037": "trains; its numbers are of a formula; tests/measures",
    "C038": "is of a matrix drawn by hand; tests/measures/test_centering.py",
    "C049": "a notebook without a kernel is no served page; tests/browser/test_report_page.py",
    "C052": "disk and cache are the server's own, and say nothing to a visitor; tests/sources",
}
_PRIVATE = re.compile(r"/tmp|/home|/root|Traceback|went wrong|hf_\w{6}|token=|(?<![-\w])nan\b")


def query(asked: dict[str, Any]) -> str:
    """The permalink's own part."""
    return urlencode({"embtie": 1, **asked})


def aligned(a: str, b: str) -> dict[str, Any]:
    """What the permalink of a pair asks."""
    return {"kind": "align", "a": a, "b": b or a}


def answers(said: str, told: str, models: str = "") -> bool:
    """Whether a page says it, and of these models."""
    return models in said and re.search(told, said) is not None


def private(said: str) -> str:
    """What it says that is nobody's business, or no number; nothing, if all is well."""
    found = _PRIVATE.search(said)
    return found[0] if found else ""
