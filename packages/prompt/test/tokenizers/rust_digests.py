"""Digests of token ids by the Rust tokenizers library, and of chats rendered by Jinja as engines configure it.

Usage: rust_digests.py <corpus.json> <folder of tokenizer.json> > <digests.json>
Needs: pip install tokenizers jinja2
"""

import hashlib
import json
import struct
import sys
from datetime import datetime
from pathlib import Path

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def template_of(config):
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: datetime(2026, 11, 30).strftime(form)
    return environment.from_string(config["chat_template"])


def special_tokens_of(config):
    tokens = {}
    for name in ("bos_token", "eos_token", "unk_token", "pad_token"):
        token = config.get(name)
        if token is not None:
            tokens[name] = token["content"] if isinstance(token, dict) else token
    return tokens


def ids_of(tokenizer, config, special, text, add_special_tokens):
    # The Python classes of this family bring their own rule, whatever the file says.
    if add_special_tokens and config.get("tokenizer_class", "").startswith("Llama"):
        start = [tokenizer.token_to_id(special["bos_token"])] if config.get("add_bos_token", True) else []
        return start + tokenizer.encode(text, add_special_tokens=False).ids
    return tokenizer.encode(text, add_special_tokens=add_special_tokens).ids


def digest(ids):
    return hashlib.sha256(struct.pack(f"<{len(ids)}I", *ids)).hexdigest()


def main(corpus, folder):
    tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    config = json.loads((Path(folder) / "tokenizer_config.json").read_text())
    template, special = template_of(config), special_tokens_of(config)
    digests = []
    for case in json.loads(Path(corpus).read_text()):
        add_special_tokens = case.get("addSpecialTokens", False)
        if "text" in case:
            text = case["text"]
        else:
            variables = {**special, "documents": None, "add_generation_prompt": True, **case.get("kwargs", {})}
            try:
                text = template.render(messages=case["messages"], tools=case.get("tools"), **variables)
            except (jinja2.exceptions.TemplateError, TypeError):
                digests.append("error")
                continue
        ids = ids_of(tokenizer, config, special, text, add_special_tokens)
        digests.append(f"{len(ids)} {digest(ids)[:32]}")
    json.dump(digests, sys.stdout, indent=0)
    sys.stdout.write("\n")


main(*sys.argv[1:])
