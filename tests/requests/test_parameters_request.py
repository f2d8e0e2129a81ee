"""The request of the parameter counts, whose configuration comes from strangers."""

import json
from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import ModelRef, ParametersRequest, read_request
from embtie_widgets.requests.link import LENGTH_LIMIT, decode, encode
from embtie_widgets.requests.parameters import CONFIG_LIMIT
from embtie_widgets.requests.reading import to_json

CONFIG = {"model_type": "gpt2", "n_embd": 8, "ratio": 0.5, "name": "ä <b>"}


@pytest.mark.parametrize(
    "request_",
    [
        ParametersRequest(),
        ParametersRequest("Qwen/Qwen3-4B", source="headers"),
        ParametersRequest(ModelRef("me/run", "step5"), config=json.dumps(CONFIG)),
    ],
)
def test_file_and_link_give_an_equal_request(request_: ParametersRequest) -> None:
    assert read_request(to_json(request_)) == request_
    link = decode(encode(request_) or "embtie=1&kind=parameters")
    assert link is not None
    assert link.request == request_


def test_a_configuration_has_one_spelling() -> None:
    spaced = json.dumps(dict(reversed(CONFIG.items())), indent=4)
    assert ParametersRequest(config=spaced) == ParametersRequest(config=CONFIG)  # type: ignore[arg-type]
    assert ParametersRequest(config="  \n") == ParametersRequest()


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ('{"a": 1,\n "b"}', "no valid JSON (line 2)"),
        ("[1]", "no JSON object"),
        ("3", "no JSON object"),
        (3, "no JSON object"),
        ('{"a": NaN}', "values that JSON has not"),
        ({"a": {1, 2}}, "values that JSON has not"),
        ("[" * 100_000, "no valid JSON"),
        (json.dumps({"a": "x" * CONFIG_LIMIT}), "at most 5,000 are read"),
    ],
)
def test_what_is_no_configuration_is_told(config: Any, told: str) -> None:
    with pytest.raises(EmbtieError) as caught:
        ParametersRequest(config=config)
    assert told in caught.value.message


def test_the_longest_configuration_still_fits_a_link() -> None:
    value = {"name": '"' * ((CONFIG_LIMIT - 14) // 2)}
    request = ParametersRequest(config=json.dumps(value))
    assert len(encode(request)) <= LENGTH_LIMIT


def test_what_has_no_bearing_on_sizes_is_left_out() -> None:
    long = {"id2label": {str(i): "x" * 9 for i in range(999)}}
    quantised = {"quantization_config": {"quant_method": "gptq", "skipped": ["layer"] * 999}}
    text = ParametersRequest(config=json.dumps(CONFIG | long | quantised)).config
    assert json.loads(text) == CONFIG | {"quantization_config": {"quant_method": "gptq"}}
