# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The only part that reaches a language model: DSPy, keys, retries, and what a call took."""

import math
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeVar
from urllib.parse import urlsplit

from intelliperf_swizzle.errors import ModelError, SlowModelError, UsageError
from intelliperf_swizzle.propose.llm.prompt import (
    INPUTS,
    LateAnswerError,
    Question,
    RefusedAnswerError,
    Reply,
)
from intelliperf_swizzle.readers import LARGEST
from intelliperf_swizzle.records import Usage
from intelliperf_swizzle.stopping import ahead

KEY_VARIABLE = "LLM_GATEWAY_KEY"
"""Where IntelliPerf looks for the key."""

OPENAI_URL = "https://api.openai.com/v1"

INTERNAL_PROVIDER = "https://llm-api.amd.com/azure"
INTERNAL_MODEL = "dvue-aoai-001-o4-mini"
"""What IntelliPerf's `--internal` stands for."""

DEFAULT_MODEL = "gpt-4o"
"""IntelliPerf's default; `--internal` replaces it."""

WAITS_SECONDS = (1.0, 4.0, 16.0)
"""Before each repetition of a call that failed for a reason that may pass."""

REASONING_MODEL = re.compile(r"(o[1-9]|gpt-5)(-|$)|.*-o[134](-mini)?$")
"""OpenAI's models that take no temperature but 1."""

REASONING_TOKENS = 20_000
"""The least that DSPy lets an answer of such a model have, their reasoning included."""

_PASSING = re.compile("Timeout|Connection|Transport|RateLimit|Unavailable|InternalServer|Server")

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Endpoint:
    """Where a model is and how it is addressed.

    Attributes:
        model: as LiteLLM names it, `openai/gpt-4o`.
        url: base URL; None = the provider's own, which LiteLLM knows.
        key: None = there is none. Never printed or stored.
        header: name of the header that the key goes into, None = the usual one.
    """

    model: str
    url: str | None = None
    key: str | None = field(default=None, repr=False)
    header: str | None = None

    def describe(self) -> str:
        """Model and host, without a key, which a URL may hold too."""
        host = urlsplit(self.url).netloc.rpartition("@")[2] if self.url else None
        return f"{self.model} at {host or 'the address of its provider'}"


def find_endpoint(
    model: str, provider: str, internal: bool, environment: Mapping[str, str]
) -> Endpoint | None:
    """The endpoint that IntelliPerf's options `-m`, `-r` and `--internal` name.

    The URL is that of `-r`, else that of `OPENAI_API_BASE`, else of `OPENAI_BASE_URL` (for another
    provider, of its variables of such names), else the provider's own. A URL of `-r` only gets the
    key of `LLM_GATEWAY_KEY`; the provider's own key goes where its variables say, or to the
    provider.

    Args:
        model: its name at the provider.
        provider: a LiteLLM provider, or the URL of an OpenAI-compatible endpoint.
        internal: AMD's internal provider.
        environment: holds keys and URLs.

    Returns:
        None if neither a key nor a URL is configured.

    Raises:
        UsageError: a variable that should hold a URL holds none.
    """
    gateway_key = environment.get(KEY_VARIABLE) or None
    if internal:
        provider = INTERNAL_PROVIDER
        model = INTERNAL_MODEL if model == DEFAULT_MODEL else model
    if "://" in provider:
        url = provider.rstrip("/")
        if f".{urlsplit(url).hostname}".endswith(".amd.com"):
            url, header = f"{url}/engines/{model}", "Ocp-Apim-Subscription-Key"
            return Endpoint(f"openai/{model}", url, gateway_key, header) if gateway_key else None
        return Endpoint(f"openai/{model}", url, gateway_key)
    own_key = environment.get(f"{provider.upper()}_API_KEY") or None
    url_named = _url_named(provider, environment)
    if url_named is not None:
        return Endpoint(f"{provider}/{model}", url_named, gateway_key or own_key)
    if gateway_key or own_key:
        url_of_openai = OPENAI_URL if provider == "openai" else None
        return Endpoint(f"{provider}/{model}", url_of_openai, own_key or gateway_key)
    return None


def _url_named(provider: str, environment: Mapping[str, str]) -> str | None:
    """The URL that a variable names for a provider."""
    prefix = provider.upper().removesuffix("_CHAT")  # LiteLLM's `ollama_chat`
    for name in (f"{prefix}_API_BASE", f"{prefix}_BASE_URL"):
        if url := environment.get(name, "").strip().rstrip("/"):
            if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
                raise UsageError(f"{name} is no URL", hint="such as http://localhost:8000/v1")
            return url
    return None


@dataclass
class Model:
    """Asks one model; the `Ask` of the proposer.

    Attributes:
        endpoint: where it is.
        temperature: of its answers.
        answer_tokens: one answer may have.
        seed: of the answers, where the provider knows seeds.
        sleep: waits some seconds before a call is repeated.
        clock: seconds.
    """

    endpoint: Endpoint
    temperature: float
    answer_tokens: int
    seed: int = 0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def __call__(self, question: Question, sample: int, seconds: float) -> Reply:
        """One answer; a call that fails for a reason that may pass is repeated.

        Raises:
            ModelError: DSPy is missing, or the call failed for good; never with the key in it.
        """
        dspy = _dspy()
        started = self.clock()
        for pause in (*WAITS_SECONDS, None):
            left = seconds - (self.clock() - started)
            lm = self._lm(dspy, question, sample, max(left, 1.0))
            try:
                fields, unreadable = _in_time(left, partial(_predict, dspy, lm, question))
            except Exception as error:
                left = seconds - (self.clock() - started)
                if pause is None or pause >= left or not _may_pass(error):
                    late = (LateAnswerError, TimeoutError)
                    slow = any(isinstance(cause, late) for cause in _chain(error))
                    raise (SlowModelError if slow else ModelError)(
                        f"the language model {self.endpoint.model} gave no answer: "
                        f"{self._line(error)}",
                        hint=_hint(error),
                    ) from None
                self.sleep(pause)
                continue
            text, usage = _last_call(lm, self.clock() - started)
            if unreadable and (usage.output_tokens or 0) >= lm.kwargs["max_tokens"]:
                unreadable += f"; it was cut off after {usage.output_tokens} tokens: be brief"
            return Reply(fields, text, unreadable, usage)
        raise AssertionError  # the last round returns or raises

    def _lm(self, dspy: ModuleType, question: Question, sample: int, seconds: float) -> Any:
        reasoning = REASONING_MODEL.match(self.endpoint.model.rsplit("/", 1)[-1]) is not None
        answer = min(self.answer_tokens, question.answer_tokens or self.answer_tokens)
        settings: dict[str, Any] = {
            "temperature": 1.0 if reasoning else self.temperature,
            "max_tokens": max(answer, REASONING_TOKENS if reasoning else 0),
            "cache": False,
            "num_retries": 0,
            "timeout": seconds + 5,  # behind ours, which says how long
            "api_key": self.endpoint.key or "none",
        }
        if self.endpoint.url is not None:
            settings["api_base"] = self.endpoint.url
        if self.endpoint.header is not None:
            headers = {self.endpoint.header: self.endpoint.key}
            settings |= {"api_key": "in-a-header", "extra_headers": headers}
        if self.endpoint.model.startswith("openai/") and not reasoning:
            settings["seed"] = self.seed + sample
        if self.endpoint.model.startswith("openai/"):
            from intelliperf_swizzle.propose.llm.wire import client

            settings["client"] = client(self.endpoint.url or OPENAI_URL, settings["api_key"])
        return dspy.LM(self.endpoint.model, **settings)

    def _line(self, error: BaseException) -> str:
        """The error in one line, without the key."""
        refused = next((c for c in _chain(error) if isinstance(c, RefusedAnswerError)), error)
        message = str(refused).partition("Traceback")[0]  # LiteLLM's, of an answer it cannot read
        text = " ".join(message.split()) or type(refused).__name__
        for secret in (self.endpoint.key, self.endpoint.key and self.endpoint.key[-8:]):
            text = text.replace(secret, "***") if secret else text
        return text if len(text) <= 300 else f"{text[:300]} …"


def _in_time(seconds: float, work: Callable[[], _Answer]) -> _Answer:
    """What a call gives; raises LateAnswerError where it takes longer, whatever it waits for."""
    try:
        return ahead(work)(seconds)
    except TimeoutError:
        raise LateAnswerError(f"no complete answer within {seconds:.3g} s") from None


def _dspy() -> Any:
    """DSPy, imported when it is first needed; LiteLLM's price list is not fetched for it."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    warnings.filterwarnings("ignore", "Items? .* `ReadOnly`", UserWarning)  # of LiteLLM's types
    try:
        import dspy
    except ImportError:
        raise ModelError(
            "a language model needs DSPy, which is not installed",
            hint="pip install 'intelliperf-swizzle[llm]'",
        ) from None
    dspy.disable_logging()  # an answer that was cut off: we say it, to the model too
    return dspy


def describe_question(question: Question) -> str:
    """A call as DSPy writes it, message by message.

    Without DSPy, which adds the markers of fields, all that it would write them around.
    """
    if find_spec("dspy") is None:
        return f"(DSPy is not installed: its markers of fields are left out.)\n\n{question.text}"
    dspy = _dspy()
    messages = dspy.ChatAdapter().format(_signature(dspy, question), [], _values(question))
    return "\n\n".join(f"## {message['role']}\n\n{message['content']}" for message in messages)


def _predict(dspy: ModuleType, lm: Any, question: Question) -> tuple[dict[str, Any], str | None]:
    """The fields of the answer, or why it cannot be read."""
    from dspy import ChatAdapter
    from dspy.adapters.base import Adapter
    from dspy.utils.exceptions import AdapterParseError

    class OneCall(ChatAdapter):  # type: ignore[misc]
        """Does not ask a second time, in JSON, behind our back: a refusal is ours to count."""

        def __call__(self, *args: object, **kwargs: object) -> object:
            return Adapter.__call__(self, *args, **kwargs)

    with dspy.context(lm=lm, adapter=OneCall()):
        try:
            prediction = dspy.Predict(_signature(dspy, question))(**_values(question))
        except AdapterParseError as error:
            return {}, _reason(str(getattr(error, "lm_response", "")), question)
    fields = {output.name: getattr(prediction, output.name) for output in question.outputs}
    if any(value is None for value in fields.values()):
        return {}, _reason("", question)
    return fields, None


def _signature(dspy: ModuleType, question: Question) -> Any:
    inputs = {name: (str, dspy.InputField(desc=INPUTS[name])) for name in _order(question)}
    outputs = {f.name: (str, dspy.OutputField(desc=f.description)) for f in question.outputs}
    return dspy.Signature({**inputs, **outputs}, question.instructions)


def _values(question: Question) -> dict[str, str]:
    """The inputs as DSPy takes them; no text of them can pass for a picture."""
    return {
        name: question.inputs[name].replace("<<CUSTOM-TYPE-", "<< CUSTOM-TYPE-")
        for name in _order(question)
    }


def _order(question: Question) -> list[str]:
    """The names of the inputs in the order of `INPUTS`."""
    return sorted(question.inputs, key=list(INPUTS).index)


def _reason(text: str, question: Question) -> str:
    """Why an answer has not the fields that were asked for."""
    missing = [f.name for f in question.outputs if f"[[ ## {f.name} ## ]]" not in text]
    return f"the answer lacks {', '.join(missing) or 'a field that can be read'}"


def _last_call(lm: Any, seconds: float) -> tuple[str, Usage]:
    """The text of the last answer, and what it took."""
    entry = lm.history[-1] if lm.history else {}
    counts = dict(entry.get("usage") or {})
    outputs = entry.get("outputs") or [""]
    cost = entry.get("cost")
    text = outputs[0].get("text", "") if isinstance(outputs[0], dict) else outputs[0]
    return str(text or ""), Usage(
        calls=1,
        input_tokens=_count(counts.get("prompt_tokens")),
        output_tokens=_count(counts.get("completion_tokens")),
        cost_usd=cost if isinstance(cost, float) and 0 <= cost < math.inf else None,
        seconds=round(seconds, 3),
    )


def _count(stated: object) -> int | None:
    """A number of tokens, if that is what the endpoint states."""
    return stated if type(stated) is int and 0 <= stated <= LARGEST else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _status(error: BaseException) -> int | None:
    """The HTTP status behind an error, if there is one."""
    for cause in _chain(error):
        for name in ("status_code", "status"):
            if isinstance(status := getattr(cause, name, None), int):
                return status
    return None


def _may_pass(error: BaseException) -> bool:
    if any(isinstance(cause, RefusedAnswerError) for cause in _chain(error)):
        return False
    status = _status(error)
    if status is not None:
        return status in (408, 409, 425, 429) or status >= 500
    return any(_PASSING.search(type(cause).__name__) for cause in _chain(error))


def _hint(error: BaseException) -> str | None:
    status = _status(error)
    if status in (401, 403):
        return f"{KEY_VARIABLE} holds the key; -m and -r name model and provider"
    if status is not None and 300 <= status < 400:
        return "it sends elsewhere, where the key does not go: -r names the right address"
    if status == 404:
        return "-m and -r name model and provider; a URL usually ends with /v1"
    return None
