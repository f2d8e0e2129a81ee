"""What the columns of recorded files mean: the names wanted, how others call them, and the files
that are known at once."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from embtie_widgets.results.centering import CURVES as CENTERING
from embtie_widgets.results.drift import CURVES as DRIFT
from embtie_widgets.results.gradient import CURVES as GRADIENT

NORM, SHARE, COSINE, ANY = "norm", "share", "cosine", "any"
_KINDS = {
    NORM: "a length is 0 or more",
    SHARE: "a share lies between 0 and 1",
    COSINE: "a cosine lies between -1 and 1",
    ANY: "",
}


@dataclass(frozen=True)
class Wanted:
    """A column that may be mapped: what it means, which values it can have, and what others call
    it."""

    name: str
    words: str
    values: str = ANY
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Known:
    """A file whose headers are known: what it is, what its columns mean, and what is to be said."""

    key: str
    words: str
    wanted: str
    columns: dict[str, str]
    notes: tuple[str, ...] = ()


_STEP = Wanted(
    "step",
    GRADIENT["step"],
    ANY,
    ("steps", "iteration", "iter", "global_step", "train_step", "training_step", "checkpoint"),
)
_LOSS = Wanted("loss", GRADIENT["loss"], ANY, ("train_loss", "training_loss", "ce_loss"))
_LR = Wanted("lr", GRADIENT["lr"], NORM, ("learning_rate",))
_SAME = ("output_share", "norm_share", "proxy_share")


def _norm(name: str, *aliases: str) -> Wanted:
    return Wanted(name, GRADIENT[name], NORM, aliases)


_GRADIENT = (
    _STEP,
    _norm("input_norm", "grad_in", "g_in", "grad_in_norm", "input_grad_norm"),
    _norm("proxy_norm", "embedding_grad_l2_norm", "embedding_grad_norm"),
    _norm("output_norm", "grad_out", "g_out", "output_proj_grad_l2_norm", "output_grad_norm"),
    _norm("total_norm", "grad_total"),
    Wanted("cosine", GRADIENT["cosine"], COSINE, ("cos",)),
    _LOSS,
    _LR,
    Wanted("output_share", GRADIENT["output_share"], ANY),
    Wanted("norm_share", GRADIENT["norm_share"], SHARE, ("share",)),
    Wanted("proxy_share", GRADIENT["proxy_share"], SHARE),
    _norm("update_input_norm"),
    _norm("update_output_norm"),
    Wanted("update_share", GRADIENT["update_share"], ANY),
    Wanted("update_norm_share", GRADIENT["update_norm_share"], SHARE),
    Wanted("check", GRADIENT["check"], NORM),
)
_DRIFT_ALIASES = {
    "input_to_first": ("input_vs_init", "input_to_init"),
    "output_to_first": ("output_vs_init", "output_to_init"),
    "input_to_previous": ("input_consecutive", "input_vs_previous"),
    "output_to_previous": ("output_consecutive", "output_vs_previous"),
}
_DRIFT_WORDS = {"first": "with the first checkpoint", "previous": "with the checkpoint before"}


def _turn(name: str) -> Wanted:
    role, _, other = name.partition("_to_")
    words = f"mean cosine of the {role}'s rows {_DRIFT_WORDS[other]}"
    return Wanted(name, words, COSINE, _DRIFT_ALIASES[name])


def _at_end(name: str, *aliases: str, values: str = ANY) -> Wanted:
    """A number of a run at its end; our own exports call it so."""
    return Wanted(name, CENTERING[name], values, (f"end_{name}", *aliases))


_SWEEP = (
    Wanted("lr", "peak learning rate of the run", NORM, ("peak_lr", "learning_rate", "max_lr")),
    Wanted(
        "loss",
        "loss of the run at its end, best on text held out; nats per token",
        ANY,
        (
            "held_loss",
            "test_loss",
            "val_loss",
            "validation_loss",
            "eval_loss",
            "final_loss",
            "train_loss",
        ),
    ),
    Wanted("method", "none, mu-centering, mu-loss, z-loss, soft-cap, or several with +"),
    Wanted("size", "what the model's size is called", ANY, ("model_size", "model", "n_params")),
    Wanted("seed", "seed of the run", ANY, ("random_seed",)),
    Wanted("tied", "tied or untied, true or false", ANY, ("tying", "tie_word_embeddings")),
    Wanted("coefficient", "that of mu-loss or z-loss", NORM, ("lambda", "weight", "gamma", "coef")),
    Wanted("initial_loss", "loss before training, of equal guesses log(V)", NORM, ("init_loss",)),
    Wanted("state", "done, diverged or failed", ANY, ("status",)),
    Wanted("name", "the run's name, where that says what it is", ANY, ("run", "run_name")),
    _STEP,
    _at_end("logit_mean", "o_logits_mean_mean"),
    _at_end("logit_mean_spread", "o_logits_std_mean", values=NORM),
    _at_end("logit_std", "o_logits_mean_std", values=NORM),
    _at_end("logit_max", "o_logits_mean_absmax", values=NORM),
    _at_end("common_fraction", values=SHARE),
    _at_end("mu_output", values=NORM),
    _at_end("mu_output_all", "o_mu_norm", values=NORM),
    _at_end("row_norm_output", "o_avg_norm", values=NORM),
    _at_end("bound_ratio", "o_centering_ratio", values=NORM),
    _at_end("mu_input", "i_mu_norm", values=NORM),
    _at_end("gradient_norm", values=NORM),
    Wanted(
        "logit_std_spread", "deviation of logit_std over positions", NORM, ("o_logits_std_std",)
    ),
    Wanted("seconds", "how long the run took", NORM, ("time", "runtime")),
)

WANTED: dict[str, tuple[Wanted, ...]] = {
    "gradient": _GRADIENT,
    "drift": (_STEP, *map(_turn, DRIFT)),
    "sweep": _SWEEP,
    "metrics": (_STEP, _LOSS, _LR, Wanted("name", "what a row is called")),
}
"""By what is wanted: every name that a mapping may have.  Of metrics all other columns are kept
under their own headers."""

IN_FORM: dict[str, tuple[str, ...]] = {
    "gradient": tuple(wanted.name for wanted in _GRADIENT[:10]),
    "drift": ("step", *DRIFT),
    "sweep": tuple(wanted.name for wanted in _SWEEP[:11]),
    "metrics": ("step", "loss", "lr", "name"),
}
"""Those that a form offers; the rest is found by its very name."""

NEEDED = {
    "gradient": ("input_norm", "proxy_norm", "output_norm", *_SAME),
    "drift": DRIFT,
    "sweep": ("lr", "name"),
    "metrics": (),
}
"""One of these at least."""

REQUIRED: dict[str, tuple[str, ...]] = {
    "gradient": ("step",),
    "drift": ("step",),
    "sweep": ("loss",),
    "metrics": (),
}
"""And what a table is not known without; rows without step may be numbered."""

_RELEASED = "the runs that the authors of Output Embedding Centering released"

KNOWN = (
    Known(
        "paper-gradient",
        "the gradient log that the paper's authors released",
        "gradient",
        {
            "step": "step",
            "loss": "loss",
            "proxy_norm": "embedding_grad_l2_norm",
            "output_norm": "output_proj_grad_l2_norm",
        },
        (
            "The file holds the norm of the gradient at the embedding's output, not of the matrix "
            "that it is scattered into: what the share says of the input is the paper's proxy.",
            "Its norms are of the last micro-batch of one process at each step.",
        ),
    ),
    Known(
        "paper-drift",
        "a drift series that the paper's authors released",
        "drift",
        {"step": "steps", **{name: aliases[0] for name, aliases in _DRIFT_ALIASES.items()}},
    ),
    Known(
        "paper-sweep",
        _RELEASED,
        "sweep",
        {"name": "name", "loss": "test_loss", "logit_mean": "O.logits_mean_mean"},
        (
            "Its means are over all 50,304 stored rows, of which 47 have no token.",
            "The file gives no loss before training; it counts as 10.83, of 221M as 10.85, as the "
            "authors have it.",
        ),
    ),
    Known(
        "own-sweep",
        "a sweep of this laboratory",
        "sweep",
        {"lr": "peak_lr", "loss": "held_loss", "method": "method", "state": "state"},
    ),
    Known(
        "own-sweep-curves",
        "the curves of a sweep of this laboratory",
        "sweep",
        {"lr": "peak_lr", "loss": "loss", "method": "method", "step": "step"},
    ),
    Known(
        "paper-sweep",
        _RELEASED,
        "metrics",
        {"name": "name", "loss": "test_loss", "logit_mean": "O.logits_mean_mean"},
    ),
    Known(
        "own-gradient",
        "a log of this laboratory",
        "gradient",
        {name: name for name in ("step", "input_norm", "output_norm")},
    ),
    Known(
        "own-drift",
        "a drift series of this laboratory",
        "drift",
        {"step": "step", **{name: name for name in DRIFT}},
    ),
)


def known(headers: Collection[str], wanted: str = "") -> Known | None:
    """Which known file has such headers."""
    for file in KNOWN:
        if wanted in ("", file.wanted) and set(file.columns.values()) <= set(headers):
            return file
    return None


def guess(headers: Collection[str], wanted: str) -> dict[str, str]:
    """Name to header, for all names that a header spells or is known to mean."""
    found = {}
    spelt: dict[str, str] = {}
    for header in headers:
        spelt.setdefault(_bare(header), header)
        spelt.setdefault(_bare(re.split(r"[/.:]", header)[-1]), header)  # as in train/loss
    for column in WANTED[wanted]:
        header = next((spelt[n] for n in (column.name, *column.aliases) if n in spelt), "")
        if header:
            found[column.name] = header
    return found


def rule_of(values: str) -> str:
    """What the values of a kind are bound to, as a clause."""
    return _KINDS[values]


def _bare(header: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", header.lower()).strip("_")
