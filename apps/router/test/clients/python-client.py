"""Uses routers through the official client; prints what came back as one line of JSON.

Arguments: a router that anybody may use; one that takes two requests at a time, with the key "key".
"""

import json
import sys

import openai

open_url, guarded_url = sys.argv[1:]
model = "mock-model"


def messages(content):
    return [{"role": "user", "content": content}]


def completions(url, key="none"):
    client = openai.OpenAI(base_url=url + "/v1", api_key=key, max_retries=0)
    return client.chat.completions


def told(text, usage):
    return {
        "text": text,
        "prompt": usage.prompt_tokens,
        "cached": usage.prompt_tokens_details.cached_tokens,
        "output": usage.completion_tokens,
    }


def error_of(ask):
    try:
        ask()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code]
    return None


chats = completions(open_url)
hello = messages("Hello from Python, with enough words behind it that the prompt has blocks which a cache can hold")
result = {}

chat = chats.create(model=model, messages=hello)
result["chat"] = told(chat.choices[0].message.content, chat.usage)
chunks = list(
    chats.create(model=model, messages=hello, stream=True, stream_options={"include_usage": True})
)
text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
result["stream"] = told(text, chunks[-1].usage)

function = {
    "name": "weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
call = chats.create(
    model=model,
    messages=hello,
    tools=[{"type": "function", "function": function}],
    tool_choice="required",
).choices[0]
result["tool"] = [
    call.message.tool_calls[0].function.name,
    json.loads(call.message.tool_calls[0].function.arguments),
]

guarded = completions(guarded_url, "key")
held = [
    guarded.create(model=model, messages=messages(content), stream=True)
    for content in ["one", "two"]
]
for stream in held:
    next(iter(stream))
result["errors"] = [
    error_of(lambda: chats.create(model=model, messages=hello, temperature=-1)),
    error_of(lambda: completions(guarded_url).create(model=model, messages=hello)),
    error_of(lambda: chats.create(model="nobody", messages=hello)),
    error_of(lambda: guarded.create(model=model, messages=hello)),
]
for stream in held:
    stream.close()

print(json.dumps(result))
