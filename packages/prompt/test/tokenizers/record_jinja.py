"""Fills in what Jinja in Python, configured as engines do, makes of the templates in a file of cases.

Usage: record_jinja.py <jinja.json>, which is rewritten. Needs: pip install jinja2
"""

import json
import sys
from datetime import datetime
from pathlib import Path

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
environment.filters["tojson"] = tojson
environment.globals["raise_exception"] = raise_exception
environment.globals["strftime_now"] = lambda form: datetime(2026, 1, 5, 9, 7, 3).strftime(form)

path = Path(sys.argv[1])
cases = json.loads(path.read_text())
for case in cases:
    case.pop("text", None)
    case.pop("raises", None)
    try:
        variables = json.loads(case.get("variables", "{}"))
        case["text"] = environment.from_string(case["template"]).render(**variables)
    except Exception:
        case["raises"] = True
path.write_text(json.dumps(cases, ensure_ascii=True, indent=2) + "\n")
