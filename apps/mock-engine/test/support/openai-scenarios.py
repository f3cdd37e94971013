"""Uses a server through the official client; prints what came back as one line of JSON."""

import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
model = sys.argv[2]
messages = [{"role": "user", "content": "Hello from Python"}]
tools = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
]
result = {}

chat = client.chat.completions.create(model=model, messages=messages)
result["chat"] = chat.choices[0].message.content
result["cached"] = chat.usage.prompt_tokens_details.cached_tokens

chunks = list(
    client.chat.completions.create(
        model=model, messages=messages, stream=True, stream_options={"include_usage": True}
    )
)
result["streamed"] = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
result["streamed_tokens"] = chunks[-1].usage.completion_tokens

call = client.chat.completions.create(
    model=model, messages=messages, tools=tools, tool_choice="required"
).choices[0]
result["call"] = [
    call.finish_reason,
    call.message.tool_calls[0].function.name,
    json.loads(call.message.tool_calls[0].function.arguments),
]

completion = client.completions.create(model=model, prompt=["a", "b"], max_tokens=3, echo=True)
result["completions"] = [choice.text for choice in completion.choices]

embedding = client.embeddings.create(model=model, input=["a", "b"])
result["embeddings"] = [len(item.embedding) for item in embedding.data]

response = client.responses.create(model=model, input="Hello")
result["response"] = [response.status, response.output_text]
result["retrieved"] = client.responses.retrieve(response.id).output_text
with client.responses.stream(model=model, input="Hello") as stream:
    types = [event.type for event in stream]
    result["response_stream"] = [types[0], types[-1], stream.get_final_response().output_text]

result["models"] = [item.id for item in client.models.list()]

try:
    client.chat.completions.create(model="no", messages=messages)
except openai.NotFoundError as error:
    result["not_found"] = error.body["message"]
try:
    client.chat.completions.create(model=model, messages=messages, max_tokens=0)
except openai.BadRequestError as error:
    result["bad_request"] = error.param

print(json.dumps(result))
