"""An evaluation of two models with numbers that are easy to follow."""

import numpy as np

from embtie_widgets.results.evaluate import Difference, Evaluation, TaskItems, TaskScore

MODELS = {
    "A": {"name": "model-untied", "revision": None, "tied": "untied", "rows": 50, "width": 8,
          "layers": 2, "parameters": 900, "dtype": "float32", "notes": []},
    "B": {"name": "model-tied", "revision": None, "tied": "tied", "rows": 50, "width": 8,
          "layers": 2, "parameters": 500, "dtype": "float32", "notes": []},
}  # fmt: skip
# Who is right: both, A alone, B alone, nobody.
_A = ((-1.0, -3.0), (-2.0, -4.0), (-5.0, -1.0), (-6.0, -2.0))
_B = ((-2.0, -3.0), (-4.0, -1.0), (-1.0, -3.0), (-5.0, -4.5))


def evaluation(**changed: object) -> Evaluation:
    """A text of two passages, and a task of four items of which each model has two right."""
    gold = np.zeros(4, int)
    picked = {
        side: {
            metric: np.array([int(np.argmax(x)) for x in scores]) for metric in ("acc", "acc_norm")
        }
        for side, scores in (("A", _A), ("B", _B))
    }
    tasks = TaskItems(
        ("one <b>", "two", "three", "four"), (("yes", "no!"),) * 4, gold, picked, {"A": _A, "B": _B}
    )
    passages = TaskItems(
        ("a first passage", "a second one"), (), np.full(2, -1), {},
        {"A": ((-20.0,), (-30.0,)), "B": ((-25.0,), (-28.0,))},
    )  # fmt: skip
    known = {
        "scores": {
            "perplexity": {s: _of_text(v) for s, v in (("A", 100.0), ("B", 120.0))},
            "piqa": {
                s: {m: TaskScore(m, 0.5, 0.29, 0.5, 4) for m in ("acc", "acc_norm")} for s in "AB"
            },
        },
        "items": {"perplexity": passages, "piqa": tasks},
        "paired": {
            "perplexity": {"word_perplexity": Difference(20.0, 5.0),
                           "token_perplexity": Difference(2.0, 0.5),
                           "byte_bits": Difference(0.1, 0.02)},
            "piqa": {m: Difference(0.0, 0.4) for m in ("acc", "acc_norm")},
        },
        "models": MODELS,
        "notes": ("piqa: 4 items, of piqa.jsonl.",),
        "settings": {"limit": 4, "shots": 0, "seed": 0, "length": 16, "stride": 8},
        "hashes": {"model A": "0" * 64},
    }  # fmt: skip
    return Evaluation(**(known | changed))


def half_done() -> Evaluation:
    """As far as model A has come."""
    whole = evaluation()
    passages = whole.items["perplexity"]
    return evaluation(
        scores={"perplexity": {"A": whole.scores["perplexity"]["A"]}},
        items={
            "perplexity": TaskItems(
                passages.contexts, (), passages.gold, {}, {"A": passages.scores["A"]}
            )
        },
        paired={},
        models={"A": MODELS["A"]},
        progress="1 of 4 parts",
    )


def _of_text(value: float) -> dict[str, TaskScore]:
    return {
        "word_perplexity": TaskScore("word_perplexity", value, value / 10, None, 2),
        "token_perplexity": TaskScore("token_perplexity", value / 10, value / 100, None, 2),
        "byte_bits": TaskScore("byte_bits", 2.0, 0.1, None, 2),
    }
