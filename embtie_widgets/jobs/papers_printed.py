"""What the weight-tying paper prints of pairs of models: tables 1 and 5, figure 1, and the norms
and fits of its repository."""

from collections.abc import Mapping

from embtie_widgets.requests import COMPARISONS
from embtie_widgets.results.papers import PaperItem, PaperNumber

OLMO, NEO, QWEN = "OLMo 1B", "GPT-Neo 2.7B and Pythia 2.8B", "Qwen3 4B and 8B"
MAPS = {"identity": "Identity", "orthogonal": "Orthogonal", "linear": "Linear"}
KNN, SPECTRAL = COLUMNS_5 = "KNN@10", "Spectral distance"
ROWS = {OLMO: 50_304, NEO: 36_938, QWEN: 151_936}
"""How many rows the paper compared."""

_TABLE_1 = {
    OLMO: (
        ("0.012", "0.440", "0.574"),
        ("0.014", "0.669", "0.719"),
        ("0.001", "0.420", "0.525"),
    ),
    NEO: (
        ("-0.001", "0.456", "0.518"),
        ("0.001", "0.507", "0.637"),
        ("0.000", "0.376", "0.507"),
    ),
}
_TABLE_5 = {
    OLMO: (("0.455", "1.349"), ("0.733", "0.588"), ("0.496", "1.373")),
    QWEN: (("0.366", "1.421"), ("0.710", "0.809"), ("0.366", "1.441")),
    NEO: (("0.611", "0.949"), ("0.408", "1.035"), ("0.372", "1.462")),
}
_FROBENIUS = {  # model: what each matrix measures
    "OLMo 1B (July 2024)": {"input": "45.5", "output": "203.5"},
    "OLMo 1B": {"tied": "531.7"},
    "Pythia 2.8B": {"input": "219.3", "output": "219.9"},
    "GPT-Neo 2.7B": {"tied": "985.0"},
    "Qwen3 4B": {"tied": "402.1"},
    "Qwen3 8B": {"input": "489.5", "output": "572.3"},
}
FROBENIUS, LARGEST, NORMS, TURNED = (
    "Frobenius norm",
    "Largest singular value",
    "Correlation of row norms",
    "Orthogonal fit, In->Out",
)
STEP_2000 = "step2000-tokens4B"
BY_NUMBER = "Orthogonal fit, rows paired by number"


def table_1() -> PaperItem:
    """Mean cosine of the mapped rows, three maps for each comparison."""
    numbers = _tabled(_TABLE_1, tuple(MAPS.values()), (0.005, 0.005, 0.005))
    notes = (
        "Mean over tokens of the cosine between a mapped row and its target; columns centred, the "
        "map fitted on all rows, none held out; always from the untied model to the tied one.",
        "OLMo takes all 50,304 stored rows, padding included; GPT-Neo and Pythia take the 36,938 "
        "tokens whose strings both vocabularies have.",
        "The released scripts give 0.0083, 0.0162 and 0.0000 for the identity column of OLMo, "
        "without centring; the printed column was made by a script that is not released.",
        "The pairs differ in data, seed and recipe, not in tying alone.",
    )
    return PaperItem("table-1", "tying", "Alignment of input, output and tied", numbers, notes)


def table_5() -> PaperItem:
    """Shared neighbours and distance of neighbour graphs."""
    numbers = _tabled(_TABLE_5, COLUMNS_5, (0.005, 0.02))
    notes = (
        "KNN@10: the mean share of a token's 10 nearest neighbours by uncentred cosine that two "
        "matrices have in common.  Spectral distance: the omnibus distance of the graphs of 64 "
        "neighbours in 128 dimensions; it compares no singular values, and has no largest value.",
        "The spectral distances of Qwen3 and of GPT-Neo and Pythia come from an older state of the "
        "authors' repository.",
        "For GPT-Neo and Pythia the closest pair is the two untied matrices.",
    )
    return PaperItem("table-5", "tying", "Neighbours and graphs of neighbours", numbers, notes)


def figure_1() -> PaperItem:
    """The three means that the histograms of the linear scores have."""
    numbers = tuple(
        PaperNumber(f"{OLMO}: {name}", "mean", row[2], tolerance=0.005)
        for name, row in zip(COMPARISONS, _TABLE_1[OLMO], strict=True)
    )
    notes = (
        "80 bins of the cosines of single tokens after a linear map.  The bars are not printed as "
        "numbers, so only the means are held against the print.",
    )
    return PaperItem("figure-1", "tying", "Cosines after a linear map", numbers, notes)


def norms() -> PaperItem:
    """Lengths of matrices and rows, and fits within one model, as the repository has them."""
    lengths = [
        PaperNumber(f"{FROBENIUS}: {model}", matrix, text, tolerance=0.2)
        for model, matrices in _FROBENIUS.items()
        for matrix, text in matrices.items()
    ]
    numbers = (
        *lengths,
        PaperNumber(f"{LARGEST}: GPT-Neo 2.7B", "tied", "897", tolerance=1.0),
        PaperNumber(f"{NORMS}: {QWEN}", "In, Tied", "0.690", tolerance=0.005),
        PaperNumber(f"{NORMS}: {QWEN}", "Out, Tied", "0.973", tolerance=0.005),
        PaperNumber(f"{NORMS}: {QWEN}", "In, Out", "0.732", tolerance=0.005),
        PaperNumber(f"{TURNED}: OLMo 1B (July 2024)", "step 2,000", "0.182", tolerance=0.005),
        PaperNumber(f"{TURNED}: OLMo 1B (July 2024)", "final", "0.440", tolerance=0.005),
        PaperNumber(f"{TURNED}: Qwen3 8B", "final", "0.257", tolerance=0.005),
        PaperNumber(f"{TURNED}: Pythia 2.8B", "final", "0.418", tolerance=0.005),
        PaperNumber(f"{BY_NUMBER}: {NEO}", "In->Tied", "0.166", tolerance=0.005),
        PaperNumber(f"{BY_NUMBER}: {NEO}", "Out->Tied", "0.178", tolerance=0.005),
        PaperNumber(f"{BY_NUMBER}: {NEO}", "In->Out", "0.418", tolerance=0.005),
    )
    notes = (
        "From the authors' repository, not from the paper.  Of the row norms of GPT-Neo and Pythia "
        "it says that they hardly go together.",
        "Which run the fit at step 2,000 is of is not said; the public checkpoint of that step is "
        "taken here.",
        "The released script of table 1 pairs rows of GPT-Neo and Pythia by number, which are "
        "different tokens; it prints three numbers and not which is which, so their order here is "
        "inferred: only the fit within Pythia can be far above chance.",
    )
    return PaperItem("norms", "tying", "Norms, and fits within a model", numbers, notes)


def _tabled(
    rows: Mapping[str, tuple[tuple[str, ...], ...]],
    columns: tuple[str, ...],
    tolerances: tuple[float, ...],
) -> tuple[PaperNumber, ...]:
    """One number for each comparison of each family and each column, in printed order."""
    return tuple(
        PaperNumber(f"{family}: {name}", column, text, tolerance=tolerance)
        for family, values in rows.items()
        for name, texts in zip(COMPARISONS, values, strict=True)
        for column, text, tolerance in zip(columns, texts, tolerances, strict=True)
    )
