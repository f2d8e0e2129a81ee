"""Evaluations end to end on small models: against plain loops, offline, stopped, kept."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import evaluate as job
from embtie_widgets.jobs import evaluate_choices
from embtie_widgets.jobs.evaluate_cost import estimate_evaluate
from embtie_widgets.jobs.evaluate_harness import Reader
from embtie_widgets.jobs.evaluate_sides import opening
from embtie_widgets.jobs.first import first_result
from embtie_widgets.requests import ModelRef
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.evaluate import EvaluateRequest
from embtie_widgets.requests.reading import to_json
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.sources.models import let_go, open_model
from embtie_widgets.sources.own_task import line_ends
from embtie_widgets.sources.prose import read_prose
from embtie_widgets.sources.tokenizing import tokenizer_of
from embtie_widgets.training.run_store import RunStore
from tests.fresh import run_fresh
from tests.jobs.lens_models import WORDS, words, write_model, write_tokenizer
from tests.jobs.trainings import Ear


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def request_(tmp_path):
    """Two small models that were never trained, a pasted text and items in their own words."""
    items = tmp_path / "items"
    items.mkdir()
    draw = np.random.default_rng(3)
    rows = [
        {
            "goal": " ".join(draw.choice(WORDS, 6)),
            "sol1": " ".join(draw.choice(WORDS, 3)),
            "sol2": " ".join(draw.choice(WORDS, 7)),
            "label": int(draw.integers(2)),
        }
        for _ in range(12)
    ]
    (items / "piqa.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return EvaluateRequest(
        ModelRef(write_model(tmp_path / "a", False, 1, bos_token_id=1)),
        ModelRef(write_model(tmp_path / "b", True, 2, bos_token_id=1)),
        tasks=("perplexity", "piqa"),
        text=words(900, 5),
        letters=2_000,
        length=16,
        stride=6,
        files=str(items),
    )


def whole(ref):
    return AutoModelForCausalLM.from_pretrained(ref.ref).eval().double()


def nats_of(model, before, after):
    """The log-likelihood of the ids `after` behind `before`, in float64, by one plain pass."""
    ids = torch.tensor([[*before, *after]])
    with torch.no_grad():
        logs = torch.log_softmax(model(ids).logits[0], -1)
    at = range(len(before) - 1, ids.shape[1] - 1)
    return float(sum(logs[i, ids[0, i + 1]] for i in at))


def test_perplexity_is_that_of_a_plain_loop_of_sliding_windows(request_):
    found = job.run_evaluate(replace(request_, tasks=("perplexity",)))
    prose = read_prose(request_.corpus, request_.text, request_.letters)
    for side, ref in (("A", request_.a), ("B", request_.b)):
        model, tokenizer = whole(ref), tokenizer_of(ref)
        ids = [1, *tokenizer.encode(["".join(prose.documents[0])])[0]]
        total, done = 0.0, 1
        while done < len(ids):
            end = 16 if done == 1 else min(done + 6, len(ids))
            total += nats_of(model, ids[max(0, end - 16) : done], ids[done:end])
            done = end
        scores = found.scores["perplexity"][side]
        assert scores["token_perplexity"].value == pytest.approx(
            np.exp(-total / (len(ids) - 1)), rel=1e-5
        )
        text = "".join(prose.documents[0])
        assert scores["word_perplexity"].value == pytest.approx(
            np.exp(-total / len(text.split())), rel=1e-5
        )
        assert scores["byte_bits"].value == pytest.approx(
            -total / np.log(2) / len(text.encode()), rel=1e-5
        )
    assert sum(map(len, found.items["perplexity"].contexts)) == 2_000


def test_the_harness_answers_as_a_plain_loop_does(request_):
    found = job.run_evaluate(replace(request_, tasks=("piqa",)))
    file = Path(request_.files) / "piqa.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    items = found.items["piqa"]
    for side, ref in (("A", request_.a), ("B", request_.b)):
        model, tokenizer = whole(ref), tokenizer_of(ref)
        right, by_length = [], []
        for i, row in enumerate(rows):
            context = f"Question: {row['goal']}\nAnswer:"
            before = tokenizer.encode([context])[0]
            nats = []
            for choice in (row["sol1"], row["sol2"]):
                both = tokenizer.encode([f"{context} {choice}"])[0]
                nats.append(nats_of(model, before, both[len(before) :]))
            np.testing.assert_allclose(items.scores[side][i], nats, rtol=1e-5)
            sizes = [len(row["sol1"]), len(row["sol2"])]
            right.append(int(np.argmax(nats)) == row["label"])
            by_length.append(int(np.argmax(np.divide(nats, sizes))) == row["label"])
        scores = found.scores["piqa"][side]
        assert scores["acc"].value == pytest.approx(np.mean(right))
        assert scores["acc_norm"].value == pytest.approx(np.mean(by_length))
        assert scores["acc"].stderr == pytest.approx(np.std(right, ddof=1) / np.sqrt(12))
        assert scores["acc"].chance == 0.5
        assert items.right(side, "acc").tolist() == right
        assert items.right(side, "acc_norm").tolist() == by_length
        assert ((items.margin(side, "acc") > 0) == right).all()
        assert ((items.margin(side, "acc_norm") > 0) == by_length).all()


def test_differences_are_paired(request_):
    found = job.run_evaluate(request_)
    values = []
    for metric, apart in found.paired["piqa"].items():
        a, b = (found.items["piqa"].right(side, metric).astype(float) for side in "AB")
        assert apart.value == pytest.approx(np.mean(b - a))
        assert apart.stderr == pytest.approx(np.std(b - a, ddof=1) / np.sqrt(12))
        values.append(apart.value)
    assert any(values)  # else it could be A less B as well
    for metric, apart in found.paired["perplexity"].items():
        a, b = (found.scores["perplexity"][side][metric].value for side in "AB")
        assert apart.value == pytest.approx(b - a)
    same = job.run_evaluate(replace(request_, b=request_.a))
    for by_metric in same.paired.values():
        assert all((one.value, one.stderr) == (0, 0) for one in by_metric.values())


def test_all_bundled_items_go_through_the_harness_with_examples(request_):
    asked = EvaluateRequest(tasks=("line-end",), limit=6, shots=2, seed=4)
    found = job.run_evaluate(asked)
    items, docs = found.items["line-end"], line_ends().docs[:6]
    assert [tuple(doc["choices"]) for doc in docs] == list(items.choices)
    assert items.gold.tolist() == [doc["gold"] for doc in docs]
    for doc, context in zip(docs, items.contexts, strict=True):
        assert context.endswith(doc["context"])
        assert context.count("\n\n") == 2
    other = job.run_evaluate(replace(asked, seed=5))
    assert other.items["line-end"].contexts != items.contexts


@pytest.mark.parametrize(
    ("task", "row", "context", "choices", "gold"),
    [
        ("hellaswag", {"activity_label": "Art", "ctx_a": "w1 w2.", "ctx_b": "w3",
         "endings": ["w4 [x] w5", "w6", "w7", "w8"], "label": "2"},
         "Art: w1 w2. W3", ("w4 w5", "w6", "w7", "w8"), 2),
        ("winogrande", {"sentence": "w1 _ w2 w3", "option1": "w4", "option2": "w5", "answer": "2"},
         "… w2 w3", ("w1 w4", "w1 w5"), 1),
        ("arc_challenge", {"question": "w1?", "choices": {"text": ["w2", "w3", "w4"],
         "label": ["A", "B", "C"]}, "answerKey": "B"},
         "Question: w1?\nAnswer:", ("w2", "w3", "w4"), 1),
        ("boolq", {"passage": "w1", "question": "w2", "label": 0},
         "w1\nQuestion: w2?\nAnswer:", ("no", "yes"), 0),
        ("openbookqa", {"question_stem": "w1", "choices": {"text": ["w2", "w3"],
         "label": ["A", "B"]}, "answerKey": "A"}, "w1", ("w2", "w3"), 0),
        ("blimp", {"sentence_good": "w1 w2", "sentence_bad": "w2 w1"},
         "", ("w1 w2", "w2 w1"), 0),
    ],
)  # fmt: skip
def test_each_task_is_worded_as_the_harness_words_it(
    request_, tmp_path, task, row, context, choices, gold
):
    (tmp_path / "items" / f"{task}.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(row))
    found = job.run_evaluate(replace(request_, tasks=(task,)))
    items = found.items[task]
    assert (items.contexts[0], items.choices[0], int(items.gold[0])) == (context, choices, gold)


def test_nothing_leaves_the_machine_and_nothing_is_written(request_, tmp_path):
    """In a Python of its own: libraries read where their caches are when they are loaded."""
    home = tmp_path / "home"
    home.mkdir()
    code = f"""
import os, socket
os.environ["HOME"] = {str(home)!r}
os.environ["EMBTIE_CACHE"] = "off"
for name in ("HF_HOME", "HF_DATASETS_CACHE", "XDG_CACHE_HOME", "LM_HARNESS_CACHE_PATH"):
    os.environ.pop(name, None)
def refused(*_):
    raise AssertionError("the network was asked")
socket.socket.connect = socket.getaddrinfo = refused
import embtie_widgets as ew
found = ew.run({to_json(request_)!r})
assert set(found.scores) == {{"perplexity", "piqa"}}, found.failed
"""
    before = sorted(path for path in tmp_path.rglob("*"))
    run_fresh(code)
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_what_was_asked_before_is_not_asked_again(request_, monkeypatch):
    first = job.run_evaluate(request_)
    let_go()
    monkeypatch.setattr(job, "open_model", lambda *_, **__: pytest.fail("opened again"))
    again = job.run_evaluate(request_)
    assert again.settings["cached"]
    assert again.scores == first.scores
    # Of the parts another order of the models is made too.
    turned = job.run_evaluate(replace(request_, a=request_.b, b=request_.a))
    assert turned.scores["piqa"]["A"] == first.scores["piqa"]["B"]


def test_partial_results_grow_and_a_stop_ends_it(request_, tmp_path):
    ear = Ear()
    found = job.run_evaluate(request_, ear)
    grown = [(len(one.models), one.progress) for one in ear.parts]
    assert grown == [(1, "1 of 4 parts"), (1, "2 of 4 parts"), (2, "3 of 4 parts")]
    assert found.progress == ""

    def stop(stage: str, _done: int, _total: int) -> None:
        if stage.startswith("piqa"):
            raise Cancelled

    with pytest.raises(Cancelled):
        job.run_evaluate(replace(request_, limit=5), stop)


def test_a_task_that_fails_leaves_the_others(request_):
    found = job.run_evaluate(replace(request_, tasks=("perplexity", "piqa", "boolq")))
    assert set(found.scores) == {"perplexity", "piqa"}
    assert "no items of boolq" in found.failed["boolq"]
    with pytest.raises(EmbtieError, match="no items of boolq"):
        job.run_evaluate(replace(request_, tasks=("boolq",)))


def test_items_that_the_harness_cannot_ask_are_said_so(request_):
    row = {"sentence_good": "", "sentence_bad": ""}
    (Path(request_.files) / "blimp.jsonl").write_text(json.dumps(row))
    found = job.run_evaluate(replace(request_, tasks=("piqa", "blimp")))
    assert set(found.scores) == {"piqa"}
    assert "cannot ask the items of blimp" in found.failed["blimp"]


def test_without_the_harness_a_perplexity_works_and_the_rest_says_what_to_install(
    request_, monkeypatch
):
    monkeypatch.setattr(evaluate_choices, "find_spec", lambda _: None)
    found = job.run_evaluate(request_)
    assert set(found.scores) == {"perplexity"}
    assert "embtie[evaluate]" in found.failed["piqa"]


def test_models_that_cut_differently_are_not_compared_by_token(request_, tmp_path):
    other = ModelRef(write_model(tmp_path / "c", True, 2, tokenizer=False, bos_token_id=1))
    write_tokenizer(tmp_path / "c", list(reversed(WORDS)))
    nano = replace(request_, a=ModelRef("nano-tied"), b=other, tasks=("perplexity",))
    found = job.run_evaluate(nano)
    assert set(found.paired["perplexity"]) == {"word_perplexity", "byte_bits"}


def test_the_result_is_kept_whole_and_the_request_is_code(request_):
    found = job.run_evaluate(request_)
    again = from_bytes(to_bytes(found))
    assert again.scores == found.scores
    assert again.items["piqa"].choices == found.items["piqa"].choices
    assert len(found.item_frame()) == 12 + len(found.items["perplexity"].contexts)
    assert "EvaluateRequest" in to_code(request_)
    assert set(found.to_frame()["metric"]) >= {"acc", "acc_norm", "byte_bits"}
    assert estimate_evaluate(request_).seconds > 0


def test_a_finished_training_is_a_model_and_a_growing_run_is_none(request_, tmp_path):
    store = RunStore.create(tmp_path / "run", name="run", tied=True, of=3)
    asked = replace(request_, a=ModelRef(str(store.folder)), tasks=("perplexity",))
    with pytest.raises(EmbtieError, match="not the whole model") as refused:
        job.run_evaluate(asked)
    assert str(tmp_path) not in refused.value.message
    for file in Path(request_.a.ref).iterdir():  # what a training leaves in the end
        shutil.copy(file, store.folder)
    assert job.run_evaluate(asked).models["A"]["name"] == "run"


def test_our_reading_is_that_of_the_harness_itself(request_):
    """Contexts that end in a space, empty ones, and ones longer than the model takes included."""
    ref = request_.a
    opened, tokenizer = open_model(ref), tokenizer_of(ref)
    reader = Reader(opened.model, tokenizer, opening(opened, tokenizer), "", lambda *_: None)
    theirs = HFLM(
        pretrained=whole(ref),
        tokenizer=PreTrainedTokenizerFast(
            tokenizer_object=tokenizer.tokenizer, bos_token=WORDS[0], eos_token=WORDS[0]
        ),
        batch_size=3,
        device="cpu",
        max_length=reader._most,
    )
    pairs = [
        ("w1 w2 w3", " w4"),
        ("w1 w2 ", "w4 w5"),
        ("", "w3 w2"),
        (words(200).replace("\n", " "), " w1 w2"),
    ]
    asked = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)]
    known = theirs.loglikelihood(asked, disable_tqdm=True)
    for ours, (nats, top) in zip(reader.loglikelihood(asked), known, strict=True):
        assert ours[0] == pytest.approx(nats, rel=1e-4)
        assert ours[1] == top
    assert reader.cut == (1 if reader._most < 200 else 0)


def test_what_ships_is_what_the_bundled_twins_give_today():
    shipped, now = first_result(EvaluateRequest()), job.run_evaluate(EvaluateRequest())
    assert (shipped.hashes, shipped.notes, shipped.models) == (now.hashes, now.notes, now.models)
    for task, by_side in now.scores.items():
        for side, scores in by_side.items():
            for metric, score in scores.items():
                then = shipped.scores[task][side][metric]
                assert then.value == pytest.approx(score.value, rel=1e-4)
                assert then.items == score.items
    assert shipped.items["line-end"].contexts == now.items["line-end"].contexts
