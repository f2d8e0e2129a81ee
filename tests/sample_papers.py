"""Made-up paper tables, for tests of what shows them: every verdict, curves, failures, floors.

The prints are the papers'; what stands beside them was not computed from any model.
"""

from dataclasses import replace

from embtie_widgets.requests.papers import PaperTablesRequest
from embtie_widgets.results.papers import PaperItem, PaperNumber, PaperTables

WHERE = "EleutherAI/pythia-2.8b@main, 50,304 rows"
CHANCE = "Chance alone gives 0.171 with so many rows and columns."
ROWS = "Row numbers were matched in place of <b>strings</b>."
LACK = "the matrices in model.safetensors of allenai/OLMo-1B-0724-hf@step10000-tokens20B"
BIG = "both matrices of Qwen/Qwen3-8B (151,936 x 4,096, taken as 16-bit numbers)"
GONE = "No runs of this kind are public."
NANO = "nano-untied and nano-tied, 4,096 rows"
_TABLE_1 = {
    "OLMo-1B: In → Out": ("0.012", "0.440", "0.574"),
    "OLMo-1B: Out → Tied": ("0.014", "0.669", "0.719"),
    "OLMo-1B: In → Tied": ("0.001", "0.420", "0.525"),
    "GPT-Neo / Pythia: In → Out": ("-0.001", "0.456", "0.518"),
    "GPT-Neo / Pythia: Out → Tied": ("0.001", "0.507", "0.637"),
    "GPT-Neo / Pythia: In → Tied": ("0.000", "0.376", "0.507"),
}
_FLOORS = {"Identity": None, "Orthogonal": 0.171, "Linear": 0.202}
_UNTIED = ("7.01", "6.64", "4.84", "4.21", "3.90", "3.74", "3.52", "3.28", "3.11")
_TIED = ("8.86", "9.61", "6.42", "4.91", "4.37", "4.06", "3.61", "3.41", "3.30")
_SENSITIVITY = {
    "untied, none": ("0.306", "0.391", "0.508", "0.344", "0.412"),
    "untied, μ-centering": ("0.028", "0.029", "0.041", "0.051", "0.061"),
    "tied, none": ("0.050", "0.061", "0.308", "0.335", "0.330"),
    "tied, z-loss": ("0.056", "0.042", "0.103", "0.083", "0.109"),
}


def tables(**fields: object) -> PaperTables:
    """Items of all three papers in which every verdict occurs."""
    made = (
        table_1(), table_3(), table_6(), table_7(), figure_2(), figure_3(), norms(),
        sensitivity(), ratio(),
    )  # fmt: skip
    return PaperTables(
        items={item.name: item for item in made},
        settings=PaperTablesRequest().to_dict() | {"cached": False},
        **fields,  # type: ignore[arg-type]
    )


def broken() -> PaperTables:
    """The same with one item that went wrong."""
    said = "The file <metrics>.csv holds no step. Give the file that the paper released."
    whole = tables(failed={"figure-3": said})
    item = whole.items["figure-3"]
    numbers = tuple(replace(n, value=None).lacking("", None, said) for n in item.numbers)
    return replace(whole, items=whole.items | {"figure-3": replace(item, numbers=numbers)})


def table_1() -> PaperItem:
    """Agreements, a difference, what is close, and chance."""
    numbers = [
        PaperNumber(row, column, printed, tolerance=0.01)
        for row, values in _TABLE_1.items()
        for column, printed in zip(_FLOORS, values, strict=True)
    ]
    apart = (0.0002, 0.0, -0.0001, 0.006, -0.09, 0.0)
    found = [
        one.found(
            float(one.printed) + apart[place % len(apart)], "model", WHERE, ROWS,
            _FLOORS[one.column],
        )
        for place, one in enumerate(numbers)
    ]  # fmt: skip
    return PaperItem(
        "table-1",
        "tying",
        "Mean cosine after alignment, two pairs of models",
        tuple(found),
        ("The identity column was probably made on centred matrices.",),
        {"OLMo-1B": {"rows used": 50_304, "map": "orthogonal"}},
        {"OLMo-1B In": "ab" * 32},
    )


def table_3() -> PaperItem:
    """Counts of parameters, which ship."""
    printed = {"Pythia 70M": ("70.4", "44.7"), "Pythia 160M": ("162.3", "123.7")}
    numbers = [
        PaperNumber(row, column, one, unit="M").found(float(one) + 0.02, "packaged", "counted")
        for row, values in printed.items()
        for column, one in zip(("untied", "tied"), values, strict=True)
    ]
    return PaperItem("table-3", "tying", "Parameters of Pythia models", tuple(numbers))


def table_6() -> PaperItem:
    """Nothing here: a model, and one whose size is known."""
    numbers = [
        PaperNumber("no scaling, 1K", "vs untied In", "0.172").lacking(LACK, 412_000_000, CHANCE),
        PaperNumber("input ×2, 1K", "vs untied In", "0.173").lacking(BIG, None, CHANCE),
    ]
    return PaperItem("table-6", "tying", "Alignment after 1K steps", tuple(numbers))


def table_7() -> PaperItem:
    """What is in print only, perplexity beside accuracies."""
    printed = {"WikiText-2 PPL": "35.71", "PIQA": "0.620", "HellaSwag": "0.329"}
    numbers = [PaperNumber(row, "tied", one).print_only(GONE) for row, one in printed.items()]
    return PaperItem("table-7", "tying", "Perplexity and accuracy", tuple(numbers))


def figure_2() -> PaperItem:
    """A curve that is here and one that has stand-ins."""
    numbers = [
        *(_layer(i, "untied", one).found(float(one) + 0.2 * (i == 1), "model", WHERE)
          for i, one in enumerate(_UNTIED)),
        *(_layer(i, "tied", one).found(float(one) * 0.6, "stand-in", NANO).lacking(BIG, 9, "")
          for i, one in enumerate(_TIED)),
    ]  # fmt: skip
    return PaperItem("figure-2", "tying", "KL of the tuned lens by layer", tuple(numbers))


def _layer(place: int, curve: str, printed: str) -> PaperNumber:
    row = f"layer {place}" if place else "input"
    return PaperNumber(row, curve, printed, unit="bits", tolerance=0.1)


def figure_3() -> PaperItem:
    """Drift of a model by steps."""
    printed = {
        "In vs init": ("0.991", "0.937", "0.865"),
        "Out vs init": ("0.958", "0.740", "0.561"),
    }
    numbers = [
        PaperNumber(f"OLMo-1B-0724, step {step}", column, one).found(float(one), "recorded", "JSON")
        for column, values in printed.items()
        for step, one in zip(("2K", "10K", "20K"), values, strict=True)
    ]
    return PaperItem("figure-3", "tying", "Cosine to step 0", tuple(numbers))


def norms() -> PaperItem:
    """Numbers of very different sizes in one column."""
    printed = {"OLMo-0724 In": "45.5", "OLMo-0724 Out": "203.5", "GPT-Neo": "985.0"}
    numbers = [
        PaperNumber(row, "Frobenius norm", one).found(float(one) * 0.99, "model", WHERE)
        for row, one in printed.items()
    ]
    return PaperItem("norms", "tying", "Norms of the matrices", tuple(numbers))


def sensitivity() -> PaperItem:
    """A table of more columns than stand side by side."""
    numbers = [
        PaperNumber(size, column, one, tolerance=0.001).found(
            float(one) + 0.0008 * (size == "57M"), "recorded", "oec_loss_overview.csv"
        )
        for column, values in _SENSITIVITY.items()
        for size, one in zip(("16M", "29M", "57M", "109M", "221M"), values, strict=True)
    ]
    return PaperItem(
        "centering-sensitivity", "centering", "Sensitivity to the learning rate", tuple(numbers)
    )


def ratio() -> PaperItem:
    """A range, which is no number."""
    number = PaperNumber("GPT-2", "r", "0.95 to 0.99").print_only("It is of other texts.")
    kept = PaperNumber("GPT-2", "kept", "0.105").found(0.21, "stand-in", NANO, floor=0.124)
    return PaperItem("bottleneck-ratio", "bottleneck", "What is not transmitted", (number, kept))
