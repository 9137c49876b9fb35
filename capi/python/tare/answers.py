"""What verbs answer: the JSON documents of `tare VERB --json`, as dicts whose keys are attributes, too."""
from __future__ import annotations

import html
import json
from typing import Any


class Answer(dict):
    """A dict; `answer.scalers[0].roles.scale` is `answer["scalers"][0]["roles"]["scale"]`. Keys that a dict has methods
    for ("values", "items") are reached by their brackets alone."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no {name!r}; there are: {', '.join(self)}") from None

    def __dir__(self):
        return [*super().__dir__(), *(key for key in self if key.isidentifier())]

    def to_json(self) -> str:
        return json.dumps(self)

    def _repr_html_(self) -> str:
        """For notebooks. Everything is escaped: text in a checkpoint is anybody's."""
        return _inspection(self) if self.get("schema") == "tare.inspect/1" else _html(self)


def answer_of(text: str) -> Any:
    return json.loads(text, object_hook=Answer)


def _html(value: Any) -> str:
    if isinstance(value, dict):
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(str(key))}</th>"
                       f"<td style='text-align:left'>{_html(item)}</td></tr>" for key, item in value.items())
        return f"<table>{rows}</table>"
    if isinstance(value, list):
        return "<br>".join(map(_html, value))
    return html.escape("" if value is None else str(value))


def _inspection(answer: Answer) -> str:
    """As `tare inspect` shows it: a table a scaler, then the findings."""
    parts = [f"<p><b>{html.escape(str(answer.get('checkpoint') or answer.get('target')))}</b></p>"]
    for scaler in answer.get("scalers", []):
        native = {str(value): name for name, value in scaler.get("fields", {}).items()}
        rows = [[role, value, native.get(str(value), "")] for role, value in scaler.get("roles", {}).items()]
        rows = rows or [[name, value, name] for name, value in scaler.get("fields", {}).items()]
        cells = "".join("<tr>" + "".join(f"<td style='text-align:left'>{_html(cell)}</td>" for cell in row) + "</tr>"
                        for row in rows)
        title = f"{scaler.get('dialect')} ({scaler.get('path') or 'the whole file'})"
        parts.append(f"<table><caption>{html.escape(title)}</caption>{cells}</table>")
    for finding in answer.get("findings", []):
        parts.append(f"<p>{html.escape(str(finding.get('severity')))}: {html.escape(str(finding.get('message')))} "
                     f"[{html.escape(str(finding.get('code')))}]</p>")
    return "".join(parts)
